"""Runs one command and outlives the worker; imports the standard library only, to start fast."""
