"""Learners of components: rows without targets, and a few directions or atoms that they are made of."""
