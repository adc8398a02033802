"""Shell commands: what they would do, and how they run."""
