"""Checks calls with long texts in a process that can be killed."""
