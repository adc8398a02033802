"""The scripted model of the demo, tests and benches."""
