"""Recall methods behind one protocol."""
