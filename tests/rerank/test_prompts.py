import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from spacy_termlink.errors import TermlinkError
from spacy_termlink.rerank.prompts import LANGUAGES, PromptEncoder, Template

WORDS = [
    *"?:()",
    *(f"{letter}{i}" for letter in "cdmn" for i in range(6)),
    "is",
    "the",
    "same",
    "as",
]


@pytest.fixture
def tokenizer():
    """Words, and a token at the end."""
    vocabulary = {word: i for i, word in enumerate(["</s>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 0)]
    )
    return made


def words_of(tokenizer, ids):
    return " ".join(tokenizer.id_to_token(i) for i in ids)


def test_shipped_templates_ask_for_mention_and_name():
    for language in LANGUAGES.values():
        assert len(set(language.templates)) >= 3
        for text in language.templates:
            filled = Template(text).fill({"mention": "MMM", "name": "NNN"}).text
            assert filled.count("MMM") == filled.count("NNN") == 1
            assert "{" not in filled


def test_values_are_put_in_place_with_their_offsets():
    prompt = Template("is {mention} the same as {name}?").fill(
        {"mention": " m1\n m2 ", "name": "n1"}
    )
    assert prompt.text == "is m1 m2 the same as n1?"
    assert {name: prompt.text[a:b] for name, a, b in prompt.places} == {
        "mention": "m1 m2", "name": "n1",
    }  # fmt: skip


def test_a_part_in_brackets_goes_where_its_field_is_empty():
    template = Template("[{context} : ]is {mention} {name}[ ({definition})]?")
    values = {"mention": "m1", "name": "n1"}
    assert template.fill(values).text == "is m1 n1?"
    assert template.fill({**values, "context": "c1", "definition": " "}).text == "c1 : is m1 n1?"
    assert template.fill({**values, "definition": "d1 d2"}).text == "is m1 n1 (d1 d2)?"


@pytest.mark.parametrize(
    "text", ["is {mention} it?", "{mention} {name} {name}", "{mention} [{name}]",
             "{mention} {name} {code}", "{mention} {name}]", "[{mention} {name}"],
)  # fmt: skip
def test_templates_in_another_form_are_refused(text):
    with pytest.raises(TermlinkError, match="TL635"):
        Template(text)


def test_a_prompt_that_fits_is_whole(tokenizer):
    template = Template("is {mention} the same as {name}?")
    encoder = PromptEncoder(tokenizer, 16, [template])
    ids = encoder.encode(template, {"mention": "m1 m2", "name": "n1"})
    assert words_of(tokenizer, ids) == "is m1 m2 the same as n1 ? </s>"


def test_definition_and_context_are_cut_before_the_names_and_the_question_never(tokenizer):
    template = Template("{context} : is {mention} the same as {name} ( {definition} ) ?")
    values = {
        "context": "c1 c2 m1 c4 c5",
        "mention": "m1",
        "name": "n1 n2",
        "definition": "d1 d2 d3",
    }

    def cut(n):
        return words_of(tokenizer, PromptEncoder(tokenizer, n, [template]).encode(template, values))

    whole = "c1 c2 m1 c4 c5 : is m1 the same as n1 n2 ( d1 d2 d3 ) ? </s>"
    assert cut(20) == whole
    # the context loses the end that is farther from the mention
    assert cut(18) == whole.replace("c1 ", "").replace(" c5", "")
    assert cut(17) == "c2 m1 : is m1 the same as n1 n2 ( d1 d2 d3 ) ? </s>"


def test_the_definition_goes_when_the_context_is_gone(tokenizer):
    template = Template("{context} {mention} is {name} {definition} ?")
    values = {"context": "c1 c2", "mention": "m1 " * 5, "name": "n1 n2", "definition": "d1 d2 d3"}
    ids = PromptEncoder(tokenizer, 12, [template]).encode(template, values)
    assert words_of(tokenizer, ids) == "m1 m1 m1 m1 m1 is n1 n2 d1 d2 ? </s>"


def test_names_are_cut_last_the_longer_first(tokenizer):
    template = Template("{mention} is {name} ( {definition} ) ?")
    values = {"mention": "m1 m2 m3 " * 3, "name": "n1 n2 n3 n4", "definition": "d1 d2 d3"}
    ids = PromptEncoder(tokenizer, 13, [template]).encode(template, values)
    assert words_of(tokenizer, ids) == "m1 m2 m3 m1 is n1 n2 n3 n4 ( ) ? </s>"


def test_a_question_too_long_for_any_name_is_refused(tokenizer):
    template = Template("is {mention} the same as {name}?")  # 6 tokens and </s>
    PromptEncoder(tokenizer, 14, [template])
    with pytest.raises(TermlinkError, match="TL636"):
        PromptEncoder(tokenizer, 13, [template])


def test_a_context_of_megabytes_keeps_what_is_around_the_mention(tokenizer):
    template = Template("{context} : is {mention} {name}?")
    encoder = PromptEncoder(tokenizer, 16, [template])
    context = "c1 " * 500_000 + "c2 m1 c3 " + "c4 " * 500_000
    ids = encoder.encode(template, {"context": context, "mention": "m1", "name": "n1"})
    assert len(ids) == 16
    assert "c2 m1 c3" in words_of(tokenizer, ids)
