"""Model files: the container, values as JSON, arrays without spare room, and who restores what."""
