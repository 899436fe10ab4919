"""Migration and repair."""
