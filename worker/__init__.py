"""Every process, and how a person gets in."""
