"""`holdfast demo`: an agent fixes a failing test while its processes are killed."""
