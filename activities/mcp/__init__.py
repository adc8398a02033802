"""Servers of tools, prompts and resources: the Model Context Protocol (opencode.md 10)."""
