"""OpenCode's shapes of a session, for doors to its clients."""
