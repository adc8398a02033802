"""The bookkeeping of a session: opening and closing turns, asks and their answers."""
