"""The edit tool, and the finders that forgive small differences."""
