"""What doors get from the client, most of it read by the store: a promise to doors."""
