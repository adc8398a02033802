"""One module for each protocol that we speak ourselves."""
