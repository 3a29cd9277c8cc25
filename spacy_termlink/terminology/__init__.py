"""Terminologies: records, the store, the hierarchy, sources and readers."""

from .concept import Concept, Name, Relation, Xref
from .store import Terminology

__all__ = ["Concept", "Name", "Relation", "Terminology", "Xref"]
