"""Features: tables of named columns, scaling, and pipelines that are saved with their learner."""
