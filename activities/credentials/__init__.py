"""Secrets that a person gives us for servers, kept in files that only their owner can read."""
