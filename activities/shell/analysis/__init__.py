"""Static analysis of shell commands: commands, words, paths, unknowns."""
