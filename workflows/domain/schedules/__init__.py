"""Schedules: when prompts come, and what is done at a moment that has come."""
