"""Runs in an environment with spaCy 3.7.5 and medspaCy 1.3.1; prints JSON. Arguments: a KB, a folder."""

import json
import sys
from pathlib import Path

import medspacy
import pyarrow as pa
import spacy

from spacy_termlink.annotate.core import annotate_batch
from spacy_termlink.annotate.privacy import withhold_messages
from spacy_termlink.cli import app

NOTE = """Past Medical History:
He had a heart attack in 2010. No seizure.

Family History:
Mother has diabetes mellitus type 2.

Impression:
Possible cleft palate. Return if seizure occurs. Short stature.
"""


def annotate(nlp):
    notes = pa.RecordBatch.from_pydict({"note_id": ["1"], "text": [NOTE]})
    return table(annotate_batch(nlp, notes).annotations.to_pylist())


def table(rows):
    columns = ("text", "concept_id", "assertion", "section")
    return [[row[column] for column in columns] for row in rows]


def make_pipeline(kb, *others, key=None):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("term_matcher", config={"kb": kb, "spans_key": key})
    for name in others:
        nlp.add_pipe(
            name, config={"input_span_type": "group", "span_group_name": key} if key else {}
        )
    nlp.add_pipe("term_linker", config={"kb": kb, "spans_key": key})
    return nlp


def command(kb, folder):
    """`termlink annotate` on a saved pipeline."""
    both = make_pipeline(kb, "medspacy_context", "medspacy_sectionizer")
    both.to_disk(folder / "pipeline")
    (folder / "notes.jsonl").write_text(json.dumps({"note_id": "1", "text": NOTE}) + "\n")
    words = ["annotate", folder / "pipeline", folder / "notes.jsonl", "-o", folder / "out.jsonl"]
    code = app([*map(str, words)], standalone_mode=False)
    assert code in (None, 0), code
    return table([json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()])


def quiet(kb):
    """medspaCy's own splitter logs every token through loguru."""
    names = ["medspacy_pyrush", "medspacy_context", "medspacy_sectionizer"]
    nlp = medspacy.load(medspacy_enable=names)
    nlp.add_pipe("term_matcher", config={"kb": kb}, before="medspacy_context")
    nlp.add_pipe("term_linker", config={"kb": kb})
    with withhold_messages():
        return annotate(nlp)


def main(kb, folder):
    found = {
        "versions": [spacy.__version__, medspacy.__version__],
        "both": annotate(make_pipeline(kb, "medspacy_context", "medspacy_sectionizer")),
        "group": annotate(make_pipeline(kb, "medspacy_context", "medspacy_sectionizer", key="sc")),
        "sections alone": annotate(make_pipeline(kb, "medspacy_sectionizer")),
        "pyrush": quiet(kb),
    }
    out, sys.stdout = sys.stdout, sys.stderr  # what the command prints is not the answer
    found["command"] = command(kb, folder)
    out.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
