"""The algorithms, one family a file: Params, State and step, in the words of the core."""
