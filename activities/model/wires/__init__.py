"""One module per protocol that we speak ourselves."""
