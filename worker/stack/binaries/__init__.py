"""Finds the programs of the embedded stack."""
