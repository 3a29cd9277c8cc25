import numpy as np
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.mention_set import mention_forms, prepare_mentions
from spacy_termlink.evaluation.mentions import AnnotatedDoc


def test_abbreviations_are_resolved_in_their_own_document_only(mention):
    docs = [
        AnnotatedDoc("d", "He had congestive heart failure (CHF). CHF worsened."),
        AnnotatedDoc("e", "CHF worsened."),
    ]
    mentions = [mention("CHF"), mention("CHF", doc_id="e"), mention("heart", doc_id="d")]
    assert mention_forms(mentions, docs) == [
        ["CHF", "congestive heart failure"],
        ["CHF"],
        ["heart"],
    ]
    assert mention_forms(mentions, None) == [["CHF"], ["CHF"], ["heart"]]


def test_documents_of_another_set_are_refused(mention):
    with pytest.raises(TermlinkError, match="TL903.*doc_id: d"):
        mention_forms([mention("CHF")], [AnnotatedDoc("z", "x")])


def test_golds_are_living_ids_by_concept(terminology, mention):
    found = prepare_mentions(
        terminology,
        [
            mention("a", "gone", "nephew-alt"),
            mention("b", "OTHER:1", "gold", accept=(("OTHER:2",), ("gold", "uncle"))),
            mention("c", "gold", "gone"),  # both are one living concept
            mention("d", "lost"),
        ],
    )
    assert found.golds == [(("gold",), ("nephew",)), ((), ("gold", "uncle")), (("gold",),), ((),)]
    assert found.any_gold == [["gold", "nephew"], ["gold", "uncle"], ["gold"], []]
    assert found.unknown == ["OTHER:1", "OTHER:2", "lost"]


def test_nil_mentions_are_apart_and_positions_say_where(terminology, mention):
    mentions = [mention("a"), mention("b", "gold", doc_id=""), mention("c")]
    found = prepare_mentions(terminology, mentions)
    assert [m.text for m in found.mentions] == ["b"]
    assert [m.text for m in found.nil_mentions] == ["a", "c"]
    assert (found.positions, found.nil_positions) == ([1], [0, 2])
    # a mention without a document is a document of its own
    assert (found.documents, found.nil_documents) == (["mention b"], ["d", "d"])


def test_overlap_is_the_best_over_forms_and_gold_concepts(terminology, mention):
    docs = [AnnotatedDoc("d", "A shared name (SN). SN.")]
    mentions = [mention("SN", "root", "gold"), mention("SN", "root"), mention("%", "gold")]
    found = prepare_mentions(terminology, mentions, docs=docs).overlap
    assert found[:2].tolist() == [1.0, 0.0] and np.isnan(found[2])
