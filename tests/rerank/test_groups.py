import pytest

from spacy_termlink.rerank.groups import accept, find_groups
from spacy_termlink.types import Candidate


def candidate(concept_id, score, probability=None, tier="hybrid"):
    return Candidate(concept_id, concept_id, concept_id, "exact", score, tier, probability)


class Proposed:
    """Answers from a table; what is asked for is kept."""

    every = False

    def __init__(self, **answers):
        self.answers = {name.replace("_", " "): found for name, found in answers.items()}
        self.asked = []

    def generate(self, forms, *, k, allowed=None):
        self.asked.append([form for (form,) in forms])
        return [self.answers.get(form, [])[:k] for (form,) in forms]


def groups_of(text, proposed, *, threshold=0.6):
    lists = proposed.generate([[text]], k=10)
    (group,) = find_groups(proposed, [[text]], lists, threshold=threshold, k=10)
    return [c.concept_id for c in group]


LIP, PALATE = [candidate("lip", 0.95)], [candidate("palate", 0.9), candidate("roof", 0.85)]


def test_parts_that_are_surer_than_the_whole_are_taken():
    proposed = Proposed(
        cleft_lip_and_palate=[candidate("lip", 0.8)], cleft_lip=LIP, cleft_palate=PALATE
    )
    assert groups_of("cleft lip and palate", proposed) == ["lip", "palate"]
    assert len(proposed.asked) == 2  # all parts of all readings at once


def test_the_whole_stays_where_a_part_is_less_sure_or_under_the_threshold():
    whole = [candidate("both", 0.92)]
    parts = {"cleft_lip": LIP, "cleft_palate": PALATE}
    assert groups_of("cleft lip and palate", Proposed(cleft_lip_and_palate=whole, **parts)) == [
        "both"
    ]
    proposed = Proposed(cleft_lip_and_palate=[candidate("lip", 0.5)], **parts)
    assert groups_of("cleft lip and palate", proposed, threshold=0.93) == []


def test_a_mention_that_is_a_name_is_not_divided():
    whole = [candidate("both", 0.5, tier="exact")]
    proposed = Proposed(cleft_lip_and_palate=whole, cleft_lip=LIP, cleft_palate=PALATE)
    assert groups_of("cleft lip and palate", proposed, threshold=0.4) == ["both"]
    assert len(proposed.asked) == 1


def test_parts_that_name_one_concept_are_no_group():
    proposed = Proposed(
        fits_and_seizures=[candidate("seizure", 0.7)],
        fits=[candidate("seizure", 1.0)],
        seizures=[candidate("seizure", 1.0)],
    )
    assert groups_of("fits and seizures", proposed) == ["seizure"]


def test_of_two_readings_the_one_with_the_surer_least_part_counts():
    proposed = Proposed(
        cleft_lip=LIP, palate=[candidate("organ", 0.7)], cleft_palate=[candidate("palate", 0.8)]
    )
    assert groups_of("cleft lip and palate", proposed) == ["lip", "palate"]


def test_the_long_form_is_divided():
    proposed = Proposed(cleft_lip=LIP, cleft_palate=PALATE)
    forms = [["CLP", "cleft lip and palate"]]
    (group,) = find_groups(proposed, forms, [[]], threshold=0.6, k=10)
    assert [c.concept_id for c in group] == ["lip", "palate"]


def test_every_candidate_that_is_probable_enough_is_accepted():
    both = [candidate("a", 0.9, 0.8), candidate("b", 0.8, 0.7), candidate("c", 0.7, 0.4)]
    assert [c.concept_id for c in accept(both, 0.6)] == ["a", "b"]
    assert groups_of("hernia", Proposed(hernia=both)) == ["a", "b"]
    # beside the first one that is more probable than not
    assert [c.concept_id for c in accept(both, 0.3)] == ["a", "b"]
    assert accept([], 0.6) == []


def test_scores_that_are_probabilities_are_treated_as_such():
    both = [candidate("a", 0.9), candidate("b", 0.7), candidate("c", 0.5)]
    proposed = Proposed(hernia=both)
    assert groups_of("hernia", proposed) == ["a"]
    proposed.every = True
    assert groups_of("hernia", proposed) == ["a", "b"]
    # the second one's score is the recall stage's where a name has decided
    named = [candidate("a", 1.0, tier="exact"), candidate("b", 0.9)]
    assert [c.concept_id for c in accept(named, 0.6, every=True)] == ["a"]


@pytest.mark.parametrize(("threshold", "wanted"), [(0.6, ["a"]), (0.95, [])])
def test_without_probabilities_the_first_alone_is_accepted(threshold, wanted):
    found = [candidate("a", 0.9), candidate("b", 0.89)]
    assert [c.concept_id for c in accept(found, threshold)] == wanted
