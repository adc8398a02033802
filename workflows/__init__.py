"""Replayed code: the session, its turns, its gates."""
