"""The embedded stack: PostgreSQL, Temporal and the worker on one machine, started and kept alive by us."""
