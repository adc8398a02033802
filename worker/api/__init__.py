"""What doors get from the client: values of its own, which the store's rows may differ from."""
