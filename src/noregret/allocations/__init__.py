"""Learners that divide a whole over named columns, round by round: what experts and portfolios share."""
