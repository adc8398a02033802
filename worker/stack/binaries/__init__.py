"""Where the programs of the embedded stack come from."""
