"""The learner: a base, what it holds, the model, its loops over rows, merging, the task."""
