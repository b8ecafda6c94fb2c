"""Evaluation: one pass, figures, regret, comparison, sweeps, drift, reports."""
