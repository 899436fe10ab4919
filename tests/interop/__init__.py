"""Other programs for Lance tables, which do not come from PyPI: run by `make interop`."""
