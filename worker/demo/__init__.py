"""`holdfast demo`: the task that it plays, and how it is killed, watched and judged."""
