"""Addresses on the net that configuration or models name: checked, fetched within bounds, kept."""
