"""How much of a conversation a model sees."""
