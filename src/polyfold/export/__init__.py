"""Models in formats of others."""
