"""apply_patch: add, delete, change and move several files by one patch."""
