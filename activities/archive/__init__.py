"""Old sessions in files."""
