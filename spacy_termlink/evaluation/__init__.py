"""Figures: ranking, documents, intervals."""
