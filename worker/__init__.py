"""The processes, and the ways in for people."""
