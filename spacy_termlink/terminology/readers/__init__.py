"""One file per format: a function `read_<format>(path, **options)` that yields Concepts.

The function is listed in setup.cfg under `spacy_termlink_readers`; that is all `termlink convert
--format <format>` needs. Its module may also have `describe_<format>(path) -> dict`, with what the
file says about itself: `release`, `licence`.
"""
