"""The model: one port, and the activity that asks it."""
