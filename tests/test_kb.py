from spacy_termlink.kb import TermKB


def test_every_name_finds_its_own_concept(tiny_kb):
    kb = TermKB.open(tiny_kb, verify=True)
    terminology = kb.terminology
    for name_row in range(terminology.n_names):
        text = terminology.name_text(name_row)
        owners = {terminology.concept_rows[row] for row in terminology.lookup(text)}
        for generator in ("dense", "ngram", "hybrid"):
            found = kb.generator(generator).generate([text], k=3)[0]
            assert len(found) == 3 or generator == "ngram"
            assert terminology.find_row(found[0].concept_id) in owners
