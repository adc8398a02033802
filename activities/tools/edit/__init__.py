"""The edit tool, which tolerates small differences."""
