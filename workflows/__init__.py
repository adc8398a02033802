"""What must give the same answer when replayed: the session, its turns, its gates."""
