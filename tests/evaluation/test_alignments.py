import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.alignments import (
    Reference,
    pair_figures,
    rank_figures,
    read_reference,
)
from spacy_termlink.evaluation.matching import Pair
from spacy_termlink.evaluation.sssom import curie
from spacy_termlink.terminology import Concept, Terminology
from spacy_termlink.terminology.builder import build_terminology

RDF = """<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><Alignment>
<map><Cell><entity1 rdf:resource="http://mouse.owl#MA_1"/><entity2 rdf:resource="http://human.owl#NCI_1"/>
  <measure>1.0</measure><relation>=</relation></Cell></map>
<map><Cell><entity1 rdf:resource="http://mouse.owl#MA_2"/><entity2 rdf:resource="http://human.owl#NCI_2"/>
  <measure>1.0</measure><relation>?</relation></Cell></map>
<map><Cell><entity1 rdf:resource="http://mouse.owl#MA_3"/><entity2 rdf:resource="http://human.owl#NCI_9"/>
  <relation>=</relation></Cell></map>
</Alignment></rdf:RDF>
"""
SSSOM = (
    "#curie_map:\n#  MA: x\nsubject_id\tpredicate_id\tpredicate_modifier\tobject_id\n"
    "MA_1\tskos:exactMatch\t\tNCI_1\nMA_2\tskos:closeMatch\t\tNCI_2\n"
    "MA_3\tskos:exactMatch\tNot\tNCI_3\nMA_4\tskos:exactMatch\t\tsssom:NoTermFound\n"
)


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    for name, prefix in (("a", "MA"), ("b", "NCI")):
        concepts = [Concept(f"{prefix}_{i}", f"n{i}") for i in range(1, 5)]
        concepts[0].alt_ids = [f"{prefix}_old"]
        build_terminology(concepts, folder / name, meta={"source": name})
    return Terminology.open(folder / "a"), Terminology.open(folder / "b")


def read(tmp_path, text, sides, **options):
    path = tmp_path / "reference"
    path.write_text(text, encoding="utf8")
    return read_reference(path, *sides, **options)


def test_alignment_of_the_oaei(tmp_path, sides):
    reference = read(tmp_path, RDF, sides)
    lost = "http://human.owl#NCI_9"
    assert reference == Reference(frozenset({("MA_1", "NCI_1"), ("MA_3", lost)}), [lost])


def test_sssom(tmp_path, sides):
    assert read(tmp_path, SSSOM, sides).pairs == {("MA_1", "NCI_1"), ("MA_2", "NCI_2")}
    exact = read(tmp_path, SSSOM, sides, predicates=["skos:exactMatch"])
    assert exact.pairs == {("MA_1", "NCI_1")}


def test_two_columns_and_retired_ids(tmp_path, sides):
    text = "MA_old\tNCI_2\r\n\n# a comment\nMA_2\tNCI_old\tmore\n"
    assert read(tmp_path, text, sides).pairs == {("MA_1", "NCI_2"), ("MA_2", "NCI_1")}


@pytest.mark.parametrize(
    "text, message",
    [
        ("MA_1 NCI_1\n", r"TL955.*line 1: 1 column"),
        ("MA_1\tNCI_1\nMA_2\n", r"TL955.*line 2"),
        (RDF[:300], "TL955.*no well-formed XML"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "TL955"),
        ("<a/>", "TL956"),
        ("subject_id\tobject_id\n", "TL956"),
        ("NCI_1\tMA_1\n", "TL957.*NCI_1 and MA_1.*order"),
        ("", "TL005"),
    ],
)
def test_what_is_no_reference_is_named(tmp_path, sides, text, message):
    with pytest.raises(TermlinkError, match=message):
        read(tmp_path, text, sides)


def test_bytes_that_are_no_utf8(tmp_path, sides):
    (tmp_path / "r.tsv").write_bytes(b"MA_1\tNCI_1\nMA_2\t\xe9\n")
    with pytest.raises(TermlinkError, match="TL955.*line 2: not UTF-8"):
        read_reference(tmp_path / "r.tsv", *sides)


def pair(subject, other, score=0.9):
    return Pair(subject, other, score, "x", "y", "preferred", "preferred")


REFERENCE = Reference(
    frozenset({("MA_1", "NCI_1"), ("MA_2", "NCI_2"), ("MA_2", "NCI_3"), ("MA_9", "NCI_4")}),
    ["MA_9"],
)


def test_ranking_by_hand(sides):
    """MA_1 right at rank 2, MA_2 at rank 1 by one of two partners, MA_9 unknown: a miss."""
    found = {0: [pair(0, 3), pair(0, 0)], 1: [pair(1, 2), pair(1, 0)]}
    figures = rank_figures(found, *sides, REFERENCE)
    assert figures["hits@1"] == pytest.approx(1 / 3)
    assert figures["hits@5"] == figures["hits@10"] == pytest.approx(2 / 3)
    assert figures["n"] == 3
    low, high = figures["ci"]["hits@1"]
    assert low <= 1 / 3 <= high


def test_pairs_by_hand(sides):
    """Two of four found, one proposed wrongly for a known concept, one for a concept not named."""
    proposed = [pair(0, 0), pair(1, 1), pair(1, 3), pair(3, 3)]
    figures = pair_figures(proposed, *sides, REFERENCE)
    assert (figures["tp"], figures["fp"], figures["fn"]) == (2, 2, 2)
    assert figures["f1"] == pytest.approx(0.5)
    partial = pair_figures(proposed, *sides, REFERENCE, partial=True)
    assert (partial["tp"], partial["fp"], partial["fn"]) == (2, 1, 2)
    assert partial["precision"] == pytest.approx(2 / 3)
    low, high = partial["ci"]["f1"]
    assert low <= partial["f1"] <= high


def test_nothing_proposed(sides):
    figures = pair_figures([], *sides, REFERENCE)
    assert (figures["precision"], figures["recall"], figures["f1"]) == (0.0, 0.0, 0.0)


def test_ids_as_write_sssom_writes_them(sides, tmp_path):
    """Of sources whose ids are no CURIEs: the prefix comes off again, the escapes too."""
    folder = tmp_path / "odd"
    build_terminology([Concept("E11.9 a/b", "n")], folder, meta={"source": "icd 10"})
    odd = Terminology.open(folder)
    written = curie(odd, "E11.9 a/b", {}), curie(sides[1], "NCI_2", {})
    assert written == ("icd_10:E11.9%20a%2Fb", "b:NCI_2")
    path = tmp_path / "x.tsv"
    path.write_text("\t".join(written) + "\n")
    found = read_reference(path, odd, sides[1])
    assert found == Reference(frozenset({("E11.9 a/b", "NCI_2")}), [])
