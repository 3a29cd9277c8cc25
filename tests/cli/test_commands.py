import json
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from spacy_termlink import __version__
from spacy_termlink.cli import app
from spacy_termlink.evaluation.ranking import METRICS
from spacy_termlink.rerank.cross_encoder import NAME as CROSS_ENCODER
from spacy_termlink.rerank.rerankers import write_about


def termlink(*args, **kwargs):
    return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False, **kwargs)


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


DOC = "A heart attack (HA) was seen. HA is bad. Fits, and a qqqq."


@pytest.fixture
def mentions(tmp_path):
    return write(
        tmp_path / "mentions.jsonl",
        {"text": "heart attack", "doc_id": "d", "concepts": ["T:0007"], "split": "dev"},
        {"text": "HA", "doc_id": "d", "concepts": ["T:0007"], "split": "dev"},
        {"text": "fits", "doc_id": "e", "concepts": ["T:9003"], "split": "dev"},
        {"text": "mitral insufficiency", "concepts": ["T:0008", "T:0001"], "split": "dev"},
        {"text": "nothing", "concepts": [], "cardinality": "noid", "split": "train"},
    )


@pytest.fixture
def docs(tmp_path):
    return write(
        tmp_path / "docs.jsonl",
        {
            "doc_id": "d",
            "text": DOC,
            "entities": [
                {"start": 2, "end": 14, "label": "X", "concepts": ["T:0007"]},
                {"start": 41, "end": 45, "label": "X", "concepts": ["T:9003"]},
            ],
        },
    )


def test_version():
    assert termlink("--version").output == f"termlink {__version__}\n"


@pytest.mark.parametrize("args", [["none"], ["evaluate"], ["annotate", "a"], ["--bogus"]])
def test_usage_errors_end_with_2(args):
    assert termlink(*args).exit_code == 2


def test_under_spacy():
    result = subprocess.run(
        [sys.executable, "-m", "spacy", "termlink", "evaluate", "none", "none"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr == "termlink: error: [TL001] No such file or folder: none.\n"


def test_evaluate(tiny_kb, mentions, tmp_path):
    out = tmp_path / "figures.json"
    result = termlink("evaluate", tiny_kb, mentions, "--candidates", "exact", "--json", out)
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    # HA is no name of the terminology
    assert (found["n"], found["hits@1"], found["hits@10"]) == (4, 0.75, 0.75)
    assert set(METRICS) <= set(found) and set(found["ci"]) == set(METRICS)
    assert found["mentions_per_second"] > 0
    about = ("set", "split", "label", "cardinality", "docs", "kb", "release", "candidates", "k")
    assert [found[name] for name in about] == [
        str(mentions), None, None, "all", None, "tiny", "2026-01-01", "exact", 10,
    ]  # fmt: skip
    assert "hits@1" in result.stdout and "0.7500 [" in result.stdout


def test_evaluate_resolves_abbreviations_by_docs(tiny_kb, mentions, docs, tmp_path):
    out = tmp_path / "figures.json"
    options = ["--candidates", "exact", "--docs", docs, "--cardinality", "single", "--json", out]
    assert termlink("evaluate", tiny_kb, mentions, *options).exit_code == 0
    found = json.loads(out.read_text())
    assert (found["n"], found["hits@1"]) == (3, 1.0)


def test_evaluate_writes_json_alone_to_stdout(tiny_kb, mentions):
    result = termlink("evaluate", tiny_kb, mentions, "--candidates", "exact", "--json", "-")
    assert json.loads(result.stdout)["n"] == 4


def test_evaluate_compares_generators(tiny_kb, mentions, tmp_path):
    out = tmp_path / "figures.json"
    names = ["--candidates", "hybrid", "--candidates", "exact", "--candidates", "ngram"]
    result = termlink("evaluate", tiny_kb, mentions, *names, "--json", out)
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    assert list(found["results"]) == ["hybrid", "exact", "ngram"]
    assert list(found["differences"]) == ["hybrid - exact", "hybrid - ngram"]
    difference = found["differences"]["hybrid - exact"]["hits@1"]
    hits = [found["results"][name]["hits@1"] for name in ("hybrid", "exact")]
    assert difference["difference"] == pytest.approx(hits[0] - hits[1])
    assert {"difference", "ci", "p", "t_test", "t_test_documents"} == set(difference)
    assert "hybrid - exact" in result.stdout


def test_evaluate_compares_rerankers_of_one_name(tiny_kb, tiny_encoder, mentions, tmp_path):
    about = {"weight": 5.0, "nil": 0.5, "share": 0.0, "head": [1.0] * 32, "bias": 0.0,
             "names": "both", "context": False, "margin": 1.0}  # fmt: skip
    folders = [tmp_path / run / "cross" for run in "ab"]
    for folder in folders:
        write_about(shutil.copytree(tiny_encoder, folder), CROSS_ENCODER, about)
    out = tmp_path / "figures.json"
    asked = [word for name in (*folders, "none") for word in ("--reranker", name)]
    result = termlink("evaluate", tiny_kb, mentions, *asked, "--json", out)
    assert result.exit_code == 0, result.output
    data = json.loads(out.read_text())
    assert list(data["results"]) == [*(f"hybrid+{folder}" for folder in folders), "hybrid"]
    assert len(data["differences"]) == 2
    alone = ["--reranker", folders[0], "--reranker", "none", "--json", out]
    termlink("evaluate", tiny_kb, mentions, *alone)
    assert list(json.loads(out.read_text())["results"]) == ["hybrid+cross", "hybrid"]


def test_evaluate_groups_and_says_what_went_wrong(tiny_kb, mentions, tmp_path):
    out = tmp_path / "figures.json"
    result = termlink("evaluate", tiny_kb, mentions, "--candidates", "exact", "--json", out)
    found = json.loads(out.read_text())
    assert {group: held["n"] for group, held in found["by_overlap"].items()} == {
        "0": 1, "(0.8, 1]": 3,
    }  # fmt: skip
    assert found["by_cardinality"]["composite"]["n"] == found["several"]["n"] == 1
    assert found["errors"]["not_recalled"] == {"n": 1, "n_first": 1}
    assert found["spearman"]["n_positive"] == 5
    for text in ("By overlap degree", "By cardinality", "mentions of several", "not_recalled"):
        assert text in result.stdout
    assert "By split" not in result.stdout  # one split only


def test_evaluate_of_nil_mentions_alone(tiny_kb, tmp_path):
    path = write(tmp_path / "m.jsonl", {"text": "zzz", "concepts": []})
    names = ["--candidates", "exact", "--candidates", "ngram"]
    result = termlink("evaluate", tiny_kb, path, *names)
    assert result.exit_code == 0, result.output
    assert "1 mentions without a concept" in result.stdout and "F1 1.0000" in result.stdout


def test_evaluate_details(tiny_kb, mentions, tmp_path):
    out = tmp_path / "details.jsonl"
    termlink("evaluate", tiny_kb, mentions, "--candidates", "exact", "--details", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["text"], r["gold"], r["rank"]) for r in rows] == [
        ("heart attack", ["T:0007"], 1),
        ("HA", ["T:0007"], None),
        ("fits", ["T:0003"], 1),
        ("mitral insufficiency", ["T:0001", "T:0008"], 1),
    ]
    assert rows[0]["candidates"][0]["id"] == "T:0007"


@pytest.mark.parametrize(
    "options, message",
    [
        (["--split", "test"], "no mention with split 'test'. Found there: 'dev' (4)"),
        (["--label", "Disease"], "none given (4)"),
        (["--candidates", "bogus"], "bogus"),
        (["--docs", "none.jsonl"], "TL001"),
    ],
)
def test_evaluate_bad_options(tiny_kb, mentions, options, message):
    result = termlink("evaluate", tiny_kb, mentions, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith("termlink: error: ")


def test_evaluate_on_a_broken_file(tiny_kb, mentions, tmp_path):
    with mentions.open("a") as file:
        file.write("{broken\n")
    result = termlink("evaluate", tiny_kb, mentions)
    assert result.exit_code == 2 and "line 6" in result.stderr


def test_evaluate_docs(tiny_kb, docs, tmp_path):
    out = tmp_path / "figures.json"
    result = termlink("evaluate-docs", tiny_kb, docs, "--json", out)
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    assert (found["n"], found["n_entities"], found["kb"]) == (1, 2, "tiny")
    assert found["strict"]["recall"] == 1.0
    assert found["documents"]["recall"] == 1.0
    linking = found["linking_on_gold"]
    assert [linking[name] for name in ("accuracy", "refused", "n", "nil_accuracy", "n_nil")] == [
        1.0, 0.0, 2, None, 0,
    ]  # fmt: skip
    for figures in (found, linking):
        assert all(figures[name]["f1"] > 0 for name in ("strict", "partial", "documents"))
        assert set(figures["strict"]["ci"]) == {"precision", "recall", "f1"}
    assert all(found[f"mentions_{name}"] for name in ("strict", "partial", "documents"))
    assert len(result.stdout.splitlines()) == 1 + 10 + 1


def test_evaluate_docs_of_a_saved_pipeline(tiny_kb, docs, tmp_path):
    from spacy_termlink.annotate.pipelines import blank_pipeline

    blank_pipeline([str(tiny_kb)]).to_disk(tmp_path / "pipeline")
    figures = []
    for pipeline in (tiny_kb, tmp_path / "pipeline"):
        result = termlink("evaluate-docs", pipeline, docs, "--json", "-")
        figures.append({**json.loads(result.stdout), "pipeline": ""})
    assert figures[0] == figures[1]


def test_evaluate_docs_of_nothing(docs, tmp_path):
    result = termlink("evaluate-docs", tmp_path / "none", docs)
    assert result.exit_code == 2 and "TL805" in result.stderr


@pytest.fixture
def notes(tmp_path):
    return write(
        tmp_path / "notes.jsonl",
        {"doc_id": "a", "text": "A heart attack. No Fits."},
        {"doc_id": "b", "text": "nothing"},
    )


def test_annotate_with_a_kb(tiny_kb, notes, tmp_path):
    out = tmp_path / "out.jsonl"
    result = termlink("annotate", tiny_kb, notes, "-o", out)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["note_id"], r["text"], r["concept_id"]) for r in rows] == [
        ("a", "heart attack", "T:0007"),
        ("a", "Fits", "T:0003"),
    ]
    assert "2 notes read, 2 annotated, 0 rejected" in result.stdout
    assert "tiny: 2 mentions, 0.0 % NIL" in result.stdout
    assert "assertion was not assessed" in result.stdout


def test_annotate_says_by_its_exit_code_that_notes_were_rejected(tiny_kb, notes, tmp_path):
    with notes.open("a") as file:
        file.write(json.dumps({"doc_id": "c", "text": None}) + "\n")
        file.write(json.dumps({"doc_id": "d", "text": "x" * 5_000_000}) + "\n")
    result = termlink("annotate", tiny_kb, notes, "-o", tmp_path / "out.parquet")
    assert result.exit_code == 3
    assert "2 annotated, 2 rejected" in result.stdout
    rejects = (tmp_path / "out.parquet.rejects.jsonl").read_text().splitlines()
    assert [json.loads(line)["code"] for line in rejects] == ["missing_text", "too_long"]


def test_annotate_reads_stdin(tiny_kb, notes, tmp_path):
    out = tmp_path / "out.html"
    result = termlink("annotate", tiny_kb, "-", "-o", out, input=notes.read_bytes())
    assert result.exit_code == 0, result.output
    assert "T:0007" in out.read_text()


@pytest.mark.parametrize(
    "options, message",
    [
        (["-o", "out.doc"], "TL804"),
        (["-o", "out.jsonl", "--text-field", "body"], "TL802"),
        (["-o", "out.jsonl", "--n-process", "0"], "n-process"),
    ],
)
def test_annotate_bad_options(tiny_kb, notes, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    result = termlink("annotate", tiny_kb, notes, *options)
    assert result.exit_code == 2 and message in result.stderr
    assert not list(tmp_path.glob("out*"))


def test_annotate_with_something_that_is_no_kb(notes, tmp_path):
    result = termlink("annotate", tmp_path, notes, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 2 and "TL805" in result.stderr


def test_no_output_overwrites_an_input(tiny_kb, mentions, docs):
    before = mentions.read_text(), docs.read_text()
    for args in (
        ("evaluate", tiny_kb, mentions, "--details", mentions),
        ("evaluate", tiny_kb, mentions, "--json", mentions),
        ("evaluate", tiny_kb, mentions, "--docs", docs, "--json", docs),
        ("evaluate-docs", tiny_kb, docs, "--json", docs),
    ):
        result = termlink(*args)
        assert (result.exit_code, "TL906" in result.stderr) == (2, True)
    assert (mentions.read_text(), docs.read_text()) == before


@pytest.mark.parametrize(
    "args, name",
    [
        (["annotate", "KB", "", "-o", "out.jsonl"], "INPUT"),
        (["annotate", "", "notes.jsonl", "-o", "out.jsonl"], "PIPELINE_OR_KB"),
        (["annotate", "KB", "", "notes.jsonl", "-o", "out.jsonl"], "PIPELINE_OR_KB"),
        (["annotate", "KB", "notes.jsonl", "-o", ""], "--output"),
        (["annotate", "KB", "notes.jsonl", "-o", "out.jsonl", "--rejects", ""], "--rejects"),
        (["info", ""], "PATH"),
        (["search", "", "seizure"], "KB"),
        (["serve", ""], "KB_OR_PIPELINE"),
        (["evaluate", "KB", ""], "MENTIONS"),
        (["evaluate-docs", "", "docs.jsonl"], "PIPELINE_OR_KB"),
        (["convert", "", "-o", "terminology"], "SOURCE"),
        (["index", "terminology", "-o", "", "--encoder", "e"], "--output"),
    ],
)
def test_an_empty_path_is_not_the_current_folder(tiny_kb, tmp_path, monkeypatch, args, name):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "notes.jsonl", {"id": 1, "text": "fits"})
    result = termlink(*(tiny_kb if arg == "KB" else arg for arg in args))
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith(f"termlink: error: [TL009] {name}")
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["notes.jsonl"]


def test_search_for_more_concepts_than_there_are(tiny_kb):
    found = [termlink("search", tiny_kb, "fits", "--json", "-k", k) for k in (1000, 10**10, 10**20)]
    assert {result.exit_code for result in found} == {0}
    assert found[0].output == found[1].output == found[2].output


@pytest.mark.parametrize(
    "args",
    [
        ["cluster", "KB", "--thresholds", 10**20],
        ["annotate", "KB", "notes.jsonl", "-o", "out.jsonl", "--n-process", 10**20],
        ["convert", "a.obo", "--n-process", 10**20],
        ["distill", "encoder", "terminology", "-o", "out", "--seed", 10**20],
        ["distill", "encoder", "terminology", "-o", "out", "--seed", -1],
    ],
)
def test_numbers_that_no_machine_can_take_are_usage_errors(tiny_kb, args):
    result = termlink(*(tiny_kb if arg == "KB" else arg for arg in args))
    assert result.exit_code == 2 and "Invalid value" in result.stderr


def test_search_for_nothing(tiny_kb):
    for text in ("", " \n", "\u200b\0"):
        result = termlink("search", tiny_kb, text)
        assert (result.exit_code, "TL907" in result.stderr) == (2, True)


@pytest.mark.parametrize("text", ["x" * 1_000_001, "(" * 2001])
def test_evaluate_docs_names_a_document_that_cannot_be_annotated(tiny_kb, tmp_path, text):
    path = write(tmp_path / "docs.jsonl", {"doc_id": "d9", "text": text, "entities": []})
    result = termlink("evaluate-docs", tiny_kb, path)
    assert (result.exit_code, result.stderr.count("TL908"), "'d9'" in result.stderr) == (2, 1, True)
