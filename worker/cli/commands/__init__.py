"""One module per group of commands, imported when one is typed."""
