"""Many learners weighed by their losses: Hedge and Auto, HedgeRegressor and AutoRegressor."""
