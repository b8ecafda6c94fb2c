"""Streams: readers of files and other sources, in batches, in flat memory."""
