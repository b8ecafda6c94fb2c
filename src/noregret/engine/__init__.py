"""Words, and how they become machine code: the level of the processor, the compiler, the cache, elementary functions."""
