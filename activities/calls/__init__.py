"""The life of a call: prepared, decided, claimed, run, settled."""
