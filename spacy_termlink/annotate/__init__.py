"""Batches of notes in, annotations out."""
