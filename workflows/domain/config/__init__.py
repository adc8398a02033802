"""The configuration of OpenCode: its fields, how files are merged, and what a project may not decide alone."""
