"""Encoders: texts to unit-norm embeddings."""
