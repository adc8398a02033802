"""`holdfast demo`: the task that it plays, and the scripted model server that tests and benches use too."""
