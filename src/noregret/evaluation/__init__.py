"""Evaluation: one pass, figures, regret, comparison, sweeps, drift, training, reports."""
