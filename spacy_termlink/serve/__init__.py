"""A page to look at, and a JSON API: search, concepts and annotated notes (extra `serve`)."""
