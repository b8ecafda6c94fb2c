"""Portfolio selection: wealth that grows by b.x every day, for weights b chosen before the relatives x are known."""
