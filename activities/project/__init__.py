"""What a directory says: its configuration files, instructions, and where its work tree begins."""
