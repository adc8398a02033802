"""What a directory determines: configuration files, instructions, and its work tree."""
