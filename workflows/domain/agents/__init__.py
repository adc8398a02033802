"""Agents as data: built-in ones, configured ones, and delegation between them."""
