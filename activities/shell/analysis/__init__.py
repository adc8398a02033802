"""What a shell command would do, read off its structure: commands, words, paths, and what cannot be read off."""
