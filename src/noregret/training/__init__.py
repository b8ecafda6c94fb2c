"""Training: a learner on a stream, saved on the way, going on where it stopped; and answers to the rows of a stream."""
