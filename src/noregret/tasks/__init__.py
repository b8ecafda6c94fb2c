"""Tasks: what a label is, what is handed to the step, what is answered."""
