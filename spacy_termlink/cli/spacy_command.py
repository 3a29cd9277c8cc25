"""Hangs `termlink` under spaCy's own command line: `python -m spacy termlink ...`.

spaCy loads every `spacy_cli` entry point before it runs a command; loading this module adds ours.
"""

from spacy.cli._util import app as spacy_app

from . import HELP, app

spacy_app.add_typer(app, name="termlink", help=HELP)
