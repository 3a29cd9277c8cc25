"""Indexes over the characters and tokens of names."""
