"""The yard: a catalog as a person holds it."""

from lanceyard.yard.space import Space
from lanceyard.yard.table import Table
from lanceyard.yard.yard import Yard, open

__all__ = ["Space", "Table", "Yard", "open"]
