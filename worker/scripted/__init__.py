"""The scripted model: a real OpenAI-compatible HTTP server that plays a script, for the demo, tests and benches."""
