"""A process of its own for checking calls whose texts are long: it can be killed."""
