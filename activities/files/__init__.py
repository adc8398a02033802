"""Safe access to the workspace: opening, resolving and replacing files."""
