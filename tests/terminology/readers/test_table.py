import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation
from spacy_termlink.terminology.readers.table import read_table


def read(tmp_path, text, name="names.tsv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf8", "surrogatepass"))
    return list(read_table(path))


HEADER = "concept_id\tname\tkind\tlanguage\tsemantic_types\tparents\talt_ids\tdefinition\n"


def test_every_column(tmp_path):
    (concept,) = read(
        tmp_path,
        HEADER
        + "B:1\tKaffee\texact\tde\tdrink|hot\tB:0|B:7\tB:9\tBrewed.\nB:1\tCoffee\tpreferred\n",
    )
    assert (concept.concept_id, concept.name, concept.language) == ("B:1", "Coffee", "en")
    assert concept.names == [Name("Kaffee", "exact", "de")]
    assert concept.semantic_types == ["drink", "hot"]
    assert concept.relations == [Relation("is_a", "B:0"), Relation("is_a", "B:7")]
    assert (concept.alt_ids, concept.definition) == (["B:9"], "Brewed.")


def test_without_a_preferred_name_the_first_line_is_it(tmp_path):
    (concept,) = read(tmp_path, "concept_id\tname\n00\tjava\n00\tmocha\n")
    assert (concept.name, concept.names) == ("java", [Name("mocha", "exact")])


def test_a_second_preferred_name_is_exact(tmp_path):
    (concept,) = read(tmp_path, "concept_id\tname\tkind\n1\ta\tpreferred\n1\tb\tpreferred\n")
    assert (concept.name, concept.names) == ("a", [Name("b", "exact")])


def test_lines_of_a_concept_need_not_lie_together(tmp_path):
    text = "concept_id\tname\tsemantic_types\n1\ta\tx\n2\tb\ty\n1\tc\tz|x\n"
    first, second = read(tmp_path, text)
    assert [n.text for n in first.names] == ["c"]
    assert (first.semantic_types, second.semantic_types) == (["x", "z"], ["y"])


@pytest.mark.parametrize(
    "name, text",
    [
        ("n.tsv", 'concept_id\tname\n1\t5" nail "bed\n'),
        ("n.csv", 'concept_id,name\n1,"5"" nail ""bed"\n'),
        ("n.jsonl", json.dumps({"concept_id": "1", "name": '5" nail "bed'})),
        ("n.tsv", 'concept_id\tname\r\n1\t5" nail "bed\r\n\r\n'),
        ("n.tsv", '\ufeffconcept_id\tname\n1\t5" nail "bed'),
        ("n.csv", '\ufeffname,concept_id\r\n"5"" nail ""bed",1\r\n'),
    ],
)
def test_quotes_line_ends_and_byte_order_mark(tmp_path, name, text):
    (concept,) = read(tmp_path, text, name)
    assert (concept.concept_id, concept.name) == ("1", '5" nail "bed')


def test_json_lists_may_be_arrays_or_separated(tmp_path):
    rows = [
        {"concept_id": "1", "name": "a", "parents": ["2", "3"], "semantic_types": "x|y"},
        {"concept_id": "2", "name": "b", "kind": None},
    ]
    text = "\n".join(map(json.dumps, rows))
    first, _ = read(tmp_path, text, "n.jsonl")
    assert [r.object for r in first.relations] == ["2", "3"]
    assert first.semantic_types == ["x", "y"]


def test_a_line_separator_inside_a_name_ends_no_line(tmp_path):
    (concept,) = read(tmp_path, "concept_id\tname\n1\ta\u2028b\x85c\n")
    assert concept.name == "a\u2028b\x85c"


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("n.tsv", "id\tname\n1\ta\n", r"TL111.*n\.tsv, line 1: no column 'concept_id'.*id, name"),
        ("n.csv", "concept_id,term\n1,a\n", r"TL111.*line 1: no column 'name'"),
        ("n.jsonl", '{"concept_id": "1", "name": "a"}\n{"concept_id": "1"}', "TL111.*line 2: no col"),
        ("n.tsv", "concept_id\tname\tkind\n1\ta\tpreffered\n", "line 2: unknown kind 'preffered'.*preferred, exact"),
        ("n.tsv", "concept_id\tname\n1\ta\n\tb\n", "line 3: concept_id is empty"),
        ("n.tsv", "concept_id\tname\n1\ta\n2\t \n", "line 3: name is empty"),
        ("n.tsv", "concept_id\tname\n1\n", "line 2: name is empty"),
        ("n.tsv", "concept_id\tname\n1\ta\tb\n", "line 2: 3 fields, the header has 2"),
        ("n.csv", 'concept_id,name\n1,a\n2,"b\n3,c\n', "TL108.*not valid csv"),
        ("n.jsonl", '{"concept_id": "1", "name": "a"}\n{oops}\n', "line 2: not valid JSON"),
        ("n.jsonl", '["1", "a"]\n', "line 1: not a JSON object"),
        ("n.jsonl", '{"concept_id": 0, "name": "a"}\n', "line 1: concept_id: expected text, found 0"),
        ("n.jsonl", '{"concept_id": "1", "name": "a\\ud800"}\n', "line 1: name: half of a surrogate"),
        ("n.jsonl", "[" * 100_000, "line 1: "),
        ("n.tsv", b"concept_id\tname\n1\tcaf\xe9\n", "line 2: not UTF-8"),
        ("n.tsv", HEADER + "1\ta" + "\t" * 6 + "x\n1\tb" + "\t" * 6 + "y\n",
         "line 3: another definition of '1' than on line 2"),
        ("n.tsv", "", "TL005"),
        ("n.csv", "concept_id,name,name\na,b,c\n", "TL108.*line 1: two columns 'name'"),
        ("n.tsv", "concept_id\tname\n1\ta\0b\n", "TL108.*line 2: name: a NUL"),
        ("n.tsv", "concept_id\tname\n", "TL106"),
        ("n.xlsx", "PK", "TL105.*ends in '.xlsx'"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_the_line(tmp_path, name, text, message):
    with pytest.raises(TermlinkError, match=message):
        read(tmp_path, text, name)


def test_columns_that_are_not_read_are_said(tmp_path):
    with pytest.warns(UserWarning, match="columns not read: kinds"):
        read(tmp_path, "concept_id\tname\tkinds\n1\ta\tx\n")


def test_a_long_cell_of_a_csv_file(tmp_path):
    (concept,) = read(tmp_path, f"concept_id,name,definition\na,b,{'x' * 200_000}\n", "n.csv")
    assert len(concept.definition) == 200_000
