"""Aggregated Mondrian forests: random trees, all of whose prunings are weighed by their losses."""
