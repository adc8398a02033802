"""The commands, one file for each group; a file is imported when one of its commands is typed."""
