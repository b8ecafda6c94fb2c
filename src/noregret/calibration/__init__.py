"""How sure an answer is: probabilities from scores, learned row by row beside a model, which does not change by it."""
