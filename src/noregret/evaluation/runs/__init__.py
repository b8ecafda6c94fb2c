"""Runs: learners on their way through a stream, one pass for all, and the studies made of such passes."""
