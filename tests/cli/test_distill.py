"""`termlink distill` on a tiny terminology, and a KB with what it makes."""

import json

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_static_encoder_makes_a_kb(tiny_terminology, tiny_encoder, tmp_path):
    small, kb = tmp_path / "small", tmp_path / "kb"
    result = run(
        "distill", tiny_encoder, tiny_terminology, "-o", small,
        "--epochs", 30, "--json", tmp_path / "figures.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    written = json.loads((small / "distill.json").read_text())
    assert figures == {"kind": "static", **written["figures"]}
    assert figures["epochs"] == 30
    card = (small / "README.md").read_text()
    assert "| distilled on | tiny | 2026-01-01 | CC0-1.0 |" in card
    assert written["teacher"]["fingerprint"] in card
    assert run("index", tiny_terminology, "--encoder", small, "-o", kb).exit_code == 0
    found = run("search", kb, "epileptic fit")
    assert found.exit_code == 0 and "T:0003" in found.output


def test_layers(tiny_terminology, tiny_encoder, tmp_path):
    result = run(
        "distill", tiny_encoder, tiny_terminology, "-o", tmp_path / "small",
        "--kind", "layers", "--layers", 1, "--steps", 2,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    config = json.loads((tmp_path / "small" / "config.json").read_text())
    assert config["num_hidden_layers"] == 1
    assert "fewer layers" in (tmp_path / "small" / "README.md").read_text()


def test_the_licences_of_the_teacher_bind(tiny_terminology, tiny_encoder, tmp_path, make_bert):
    teacher = make_bert(tmp_path / "teacher")
    closed = {"source": "closed", "release": "1", "licence": "own", "shareable": False}
    (teacher / "training.json").write_text(json.dumps({"terminologies": [closed]}))
    result = run("distill", teacher, tiny_terminology, "-o", tmp_path / "small", "--epochs", 1)
    assert result.exit_code == 0, result.output
    card = (tmp_path / "small" / "README.md").read_text()
    assert "| its teacher was trained on | closed | 1 | own |" in card
    assert "The licence of closed forbids" in card


@pytest.mark.parametrize("out", ["tiny_terminology", "notes"])
def test_what_is_no_encoder_is_not_replaced(out, tiny_terminology, tiny_encoder, tmp_path):
    path = tiny_terminology if out == "tiny_terminology" else tmp_path / out
    path.mkdir(exist_ok=True)
    (path / "keep").touch()
    result = run("distill", tiny_encoder, tiny_terminology, "-o", path)
    code = "TL906" if out == "tiny_terminology" else "TL002"
    assert result.exit_code == 2 and code in result.output
    assert (path / "keep").exists()
    (path / "keep").unlink()


def test_bad_input(tiny_terminology, tiny_encoder, tmp_path):
    def fails(code, *words):
        result = run("distill", *words, "-o", tmp_path / "out")
        assert result.exit_code == 2 and code in result.output, result.output
        assert not (tmp_path / "out").exists()

    kept = (tiny_encoder / "model.safetensors").read_bytes()
    result = run("distill", tiny_encoder, tiny_terminology, "-o", tiny_encoder)
    assert result.exit_code == 2 and "TL906" in result.output
    assert (tiny_encoder / "model.safetensors").read_bytes() == kept
    fails("TL300", tmp_path / "nowhere", tiny_terminology)
    fails("TL432", tiny_encoder, tiny_terminology, "--kind", "layers", "--layers", 2)
    result = run("distill", tiny_encoder, tiny_terminology, "-o", tmp_path / "s", "--epochs", 1)
    assert result.exit_code == 0
    fails("TL433", tmp_path / "s", tiny_terminology)
