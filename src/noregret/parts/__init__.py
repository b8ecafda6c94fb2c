"""Parts of the generic families: losses, rates, projections and proximal maps. A part is a kind, so it carries its own parameters."""
