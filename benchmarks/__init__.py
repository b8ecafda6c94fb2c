"""Speed of noregret beside its peers: `python -m benchmarks --help`."""
