"""Opening, resolving and replacing files safely: the one way to touch the workspace."""
