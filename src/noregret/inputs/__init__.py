"""What comes in: checked rows, side columns, features, dicts, hashed names, labels, batches."""
