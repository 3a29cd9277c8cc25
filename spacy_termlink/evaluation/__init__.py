"""Figures: ranking of candidates, documents end to end, bootstrap intervals."""
