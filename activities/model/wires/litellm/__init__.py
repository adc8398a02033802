"""Models that no wire of ours reaches, through litellm."""
