"""Schedules: when something is to be prompted, and what is done at a moment that has come."""
