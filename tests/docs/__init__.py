"""The documentation is true: what it shows runs, and what it lists is complete."""
