"""What an algorithm declares: parameters, state, rounds, bounds; `kernel=` and `budget=`."""
