"""Learners of rows without targets: components, directions or atoms that rows are made of, and topics of documents."""
