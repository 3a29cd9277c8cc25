import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.files import read_json, write_json


def test_json_keeps_every_digit(tmp_path):
    """srsly writes nine digits and reads 0.6 as 0.6000000000000001."""
    data = {"threshold": 0.6, "weights": [1e-20, 0.1234567890123456, 1 / 3], "name": "é"}
    write_json(tmp_path / "a.json", data)
    assert read_json(tmp_path / "a.json") == data


def test_what_is_no_json_is_named(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"a": \xff')
    with pytest.raises(TermlinkError, match=r"TL003.*a\.json"):
        read_json(tmp_path / "a.json")
