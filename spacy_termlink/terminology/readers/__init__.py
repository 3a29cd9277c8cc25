"""One file per format; each reader is a generator of Concepts."""
