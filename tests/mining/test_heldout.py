import pytest

from spacy_termlink.mining.corpus import Corpus
from spacy_termlink.mining.draws import share_of
from spacy_termlink.mining.heldout import HeldoutSettings, is_held_concept, is_held_form
from spacy_termlink.terminology import Concept, Name


def held_form(n=0):
    """A synonym that the stable tenth holds out, and its variants in case."""
    forms = (f"synonym {i}" for i in range(10_000))
    return [form for form in (next(forms) for _ in range(1000)) if is_held_form(form, 0.1)][n]


def kept_form():
    return next(f"synonym {i}" for i in range(1000) if not is_held_form(f"synonym {i}", 0.1))


def corpus_of(make_terminology, records, **settings):
    return Corpus([make_terminology(records)], heldout=HeldoutSettings(**settings))


def test_a_tenth_is_held_out_and_lies_inside_the_fifth():
    forms = [f"name {i}" for i in range(5000)]
    tenth = {form for form in forms if is_held_form(form, 0.1)}
    fifth = {form for form in forms if is_held_form(form, 0.2)}
    assert len(tenth) == pytest.approx(500, abs=75)
    assert tenth < fifth


def test_the_hash_is_the_same_everywhere():
    assert share_of("heldout name", "seizures") == pytest.approx(0.2405582117, abs=1e-9)


def test_a_held_out_synonym_is_nowhere_and_its_concept_stays(make_terminology):
    concepts = [Concept("A", "disease", [Name(held_form()), Name(kept_form())])]
    corpus = corpus_of(make_terminology, concepts)
    (item,) = corpus.walk()
    assert [name.text for name in item.names] == ["disease", kept_form()]
    (row,) = corpus.heldout.rows
    assert row["concept_id"] == "A"
    assert row["concepts"] == ["A"]
    assert row["text"] == held_form()
    assert row["label"] == "name-disjoint"
    assert "accept" not in row


def test_every_spelling_with_the_same_normal_form_is_held_out_once(make_terminology):
    form = held_form()
    names = [Name(form.title()), Name(f"{form}s", "related"), Name(form.upper(), "layperson")]
    corpus = corpus_of(make_terminology, [Concept("A", "disease", names)])
    assert [row["text"] for row in corpus.heldout.rows] == [form.title()]
    (item,) = corpus.walk()
    assert form not in {name.normalized for name in item.names}


def test_preferred_names_are_never_held_out(make_terminology):
    # as preferred name of its own concept, and of another one
    concepts = [
        Concept("A", held_form(0), [Name(held_form(0).upper(), "layperson")]),
        Concept("B", held_form(1)),
        Concept("C", "disease", [Name(held_form(1))]),
    ]
    corpus = corpus_of(make_terminology, concepts)
    assert corpus.heldout.rows == []
    assert len(list(corpus.walk())) == 3


def test_a_form_held_out_of_one_terminology_is_in_no_record_of_another(make_terminology):
    one = make_terminology([Concept("A", "disease", [Name(held_form())])])
    other = make_terminology([Concept("X", held_form(), [Name("other name")])], "doid")
    corpus = Corpus([one, other])
    names = {item.concept: [name.text for name in item.names] for item in corpus.walk()}
    assert names == {"A": ["disease"], "X": ["other name"]}
    # and what is held out of the first does not depend on the second
    assert corpus.heldout.rows == Corpus([one]).heldout.rows


def test_held_out_of_some_terminologies_only(make_terminology):
    one = make_terminology([Concept("A", "disease", [Name(held_form(0))])])
    other = make_terminology([Concept("X", "illness", [Name(held_form(1))])], "doid")
    corpus = Corpus([one, other], heldout=HeldoutSettings(terminologies=["hpo"]))
    assert [row["terminology"] for row in corpus.heldout.rows] == ["hpo"]


def test_a_name_of_two_concepts_accepts_both(make_terminology):
    concepts = [Concept(id, f"disease {id}", [Name(held_form())]) for id in "BA"]
    rows = corpus_of(make_terminology, concepts).heldout.rows
    assert [(row["concepts"], row["accept"]) for row in rows] == [
        (["A"], [["A", "B"]]),
        (["B"], [["B", "A"]]),
    ]


def test_what_is_held_out_does_not_depend_on_the_seed(hpo):
    rows = [
        Corpus([hpo], seed=seed, heldout=HeldoutSettings(names=0.5)).heldout.rows for seed in (0, 1)
    ]
    assert rows[0] == rows[1] != []


def test_dev_is_a_stable_part(make_terminology):
    concepts = [Concept(str(i), f"disease {i}", [Name(f"synonym {i}")]) for i in range(1000)]
    rows = corpus_of(make_terminology, concepts, names=1.0, dev=0.2).heldout.rows
    dev = sum(row["split"] == "dev" for row in rows)
    assert dev == pytest.approx(200, abs=50)
    assert {row["split"] for row in rows} == {"dev", "test"}


def test_a_held_out_concept_is_in_no_record(make_terminology):
    ids = [f"HP:{i}" for i in range(200)]
    held = next(id for id in ids if is_held_concept(id, 0.1))
    kept = next(id for id in ids if not is_held_concept(id, 0.1))
    concepts = [
        Concept(
            held, "unseen disease", [Name("unseen synonym"), Name("Unseen disease", "layperson")]
        ),
        Concept(kept, "seen disease", [Name("unseen synonym")]),
    ]
    corpus = corpus_of(make_terminology, concepts, names=0.0, concepts=0.1)
    names = {item.concept: [name.text for name in item.names] for item in corpus.walk()}
    assert names == {kept: ["seen disease"]}
    (row,) = corpus.heldout.rows
    assert (row["text"], row["label"]) == ("unseen synonym", "concept-disjoint")


def test_a_concept_that_is_the_same_as_a_held_out_one_is_left_out_too(make_terminology):
    from spacy_termlink.terminology import Xref

    held = next(f"HP:{i}" for i in range(200) if is_held_concept(f"HP:{i}", 0.1))
    one = make_terminology([Concept(held, "unseen disease")])
    other = make_terminology([Concept("DOID:1", "unseen illness", xrefs=[Xref(held)])], "doid")
    settings = HeldoutSettings(names=0.0, concepts=0.1, terminologies=["hpo"])
    assert list(Corpus([one, other], heldout=settings).walk()) == []
