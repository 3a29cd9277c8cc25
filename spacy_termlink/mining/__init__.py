"""Mining: training records from terminologies and annotated mentions, without any model."""

from .equivalents import Equivalents
from .records import MinedName, Record, read_names, read_records

__all__ = ["Equivalents", "MinedName", "Record", "read_names", "read_records"]
