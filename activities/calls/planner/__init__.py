"""The planner and its process."""
