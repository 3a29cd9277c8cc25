"""Runs in an environment with scispaCy 0.6.2; prints JSON. Arguments: a KB, a folder."""

import json
import sys
from pathlib import Path

import spacy
from scispacy import candidate_generation, linking
from scispacy.abbreviation import AbbreviationDetector  # noqa: F401 (registers the factory)
from scispacy.linking_utils import Entity, KnowledgeBase

from spacy_termlink.cli import app

# its index build asks for an old scipy, only because a newer one saves no float16 matrix
candidate_generation.scipy_supports_sparse_float16 = lambda: True

# --- code of a user of scispaCy, as its README has it, before the two lines are changed:
#
#     from scispacy.linking import EntityLinker
#
#     nlp = spacy.load("en_core_sci_sm")
#     nlp.add_pipe("abbreviation_detector")
#     nlp.add_pipe("scispacy_linker", config={"resolve_abbreviations": True, "linker_name": "umls"})
#     ...
#     linker = nlp.get_pipe("scispacy_linker")

TEXT = "Grand mal spells (GMS) are known. She had an epileptic fit. GMS came back after a heart attack."
PATTERNS = ["GMS", "epileptic fit", "heart attack"]  # stand for the recogniser of their model


def users_code(nlp, linker_name):
    """What they do with the links; nothing in it is changed."""
    doc = nlp(TEXT)
    linker = nlp.get_pipe(linker_name)
    shown, rows = [], []
    for entity in doc.ents:
        for umls_ent in entity._.kb_ents:
            shown.append(str(linker.kb.cui_to_entity[umls_ent[0]]))
    for ent in doc.ents:
        for cui, score in ent._.kb_ents[:1]:
            entity = linker.kb.cui_to_entity[cui]
            rows.append([ent.text, cui, entity.canonical_name, entity.types, entity.definition,
                         list(entity.aliases), entity.concept_id == cui, score > 0.5])  # fmt: skip
    abbreviations = [[str(a), str(a._.long_form)] for a in doc._.abbreviations]
    return {"shown": shown[-1:], "rows": rows, "abbreviations": sorted(abbreviations)}


def blank(*, serializable=False):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_detector", config={"make_serializable": serializable})
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "ENTITY", "pattern": p} for p in PATTERNS])
    return nlp


def long_form(kb):
    """scispaCy's long form is used; one that no algorithm could find shows that it is read."""
    nlp = blank()
    nlp.add_pipe("term_linker", config={"kb": kb})
    doc = nlp.get_pipe("entity_ruler")(nlp.make_doc("GMS came back."))
    before = nlp.get_pipe("term_linker")(doc).ents[0].kb_id_
    doc = nlp.get_pipe("entity_ruler")(nlp.make_doc("GMS came back."))
    nlp.get_pipe("abbreviation_detector")(doc)
    doc.ents[0]._.long_form = nlp.make_doc("Grand mal seizure")[0:3]
    after = nlp.get_pipe("term_linker")(doc).ents[0]
    return [before == after.kb_id_, after.kb_id_, after._.term_candidates[0]["matched"]]


def both_linkers(kb):
    """scispaCy's own linker and ours in one pipeline, over the same names."""
    rows = [
        {"concept_id": cui, "canonical_name": name, "types": [], "definition": "theirs",
         # an n-gram counts from ten names on
         "aliases": [f"{name} of kind {i}" for i in range(12)]}
        for cui, name in (("C1", "epileptic fit"), ("C2", "heart attack"))
    ]  # fmt: skip
    knowledge = KnowledgeBase([Entity(**row) for row in rows])
    names, vectorizer, index = candidate_generation.create_tfidf_ann_index(None, knowledge)
    generator = candidate_generation.CandidateGenerator(index, vectorizer, names, knowledge)
    linking.CandidateGenerator = lambda name=None: generator  # in place of its download
    nlp = blank()
    nlp.add_pipe("scispacy_linker", config={"resolve_abbreviations": True})
    nlp.add_pipe("term_linker", config={"kb": kb, "overwrite": False})
    links = [[*row, ent._.term_links["term_linker"]["kb_id"]] for ent, row in first_links(nlp)]
    nlp.remove_pipe("term_linker")
    nlp.add_pipe("term_linker", config={"kb": kb})  # ours last: theirs is replaced
    return [links, [row for _, row in first_links(nlp)]]


def first_links(nlp):
    """Each entity, with its text and the first id of `_.kb_ents`, None where there is none."""
    return [
        (ent, [ent.text, next((pair[0] for pair in ent._.kb_ents), None)]) for ent in nlp(TEXT).ents
    ]


def saved(kb, folder):
    """`termlink annotate` imports what registers `abbreviation_detector`."""
    nlp = blank(serializable=True)
    nlp.add_pipe("term_linker", config={"kb": kb})
    nlp.to_disk(folder / "pipeline")
    (folder / "notes.jsonl").write_text(json.dumps({"note_id": "1", "text": TEXT}) + "\n")
    words = ["annotate", folder / "pipeline", folder / "notes.jsonl", "-o", folder / "out.jsonl"]
    code = app([str(word) for word in words], standalone_mode=False)
    assert code in (None, 0), code
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    return [[row["text"], row["concept_id"], row["assertion"]] for row in rows]


def main(kb, folder):
    out, sys.stdout = sys.stdout, sys.stderr  # scispaCy reports on stdout
    nlp = blank()
    nlp.add_pipe("term_linker", config={"kb": kb})  # the two lines that change
    found = {
        "users": users_code(nlp, "term_linker"),
        "long form": long_form(kb),
        "both": both_linkers(kb),
        "saved": saved(kb, folder),
    }
    out.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
