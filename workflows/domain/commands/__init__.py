"""Slash commands: what they are, and what their templates become."""
