"""Annotated corpora in other formats, into and out of `docs.jsonl`: one file per format.

Each has `read_<format>(path, report)`, which yields documents, and `write_<format>(docs, path,
report)`; `convert` puts one of each together.
"""
