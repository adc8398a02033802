"""What of a conversation a model gets to see."""
