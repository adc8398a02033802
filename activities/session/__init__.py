"""The bookkeeping of a session: taking prompts, asks, closing a turn, sweeping."""
