"""The model port, and the activity that asks it."""
