"""The edit tool, and the finders that tolerate small differences."""
