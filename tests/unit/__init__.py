"""Unit tests: one file for each noun of the package, and pylance itself where we stand on it."""
