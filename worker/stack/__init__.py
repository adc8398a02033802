"""The embedded stack: PostgreSQL, Temporal and worker, supervised on one machine."""
