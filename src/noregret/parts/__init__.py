"""Parts of the generic families: losses, rates, projections and proximal maps. A part is a kind, with its own parameters."""
