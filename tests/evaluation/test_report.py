"""`termlink report` end to end on a toy, and what its config may say."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.mention_set import prepare_mentions
from spacy_termlink.evaluation.mentions import read_mentions
from spacy_termlink.evaluation.page import MARKDOWN, PAGE
from spacy_termlink.evaluation.report_settings import load_config
from spacy_termlink.evaluation.significance import compare_results
from spacy_termlink.evaluation.summary import summarize
from spacy_termlink.evaluation.system import evaluate_system
from spacy_termlink.kb import TermKB

ROOT = Path(__file__).parent.parent.parent
SYSTEMS = ("bm25", "wordvectors", "ngram", "cls", "hybrid")
CONFIG = """
[paths]
kbs = "kb"

[report]
title = "Toy <1>"
systems = ["bm25", "wordvectors", "ngram", "cls", "hybrid"]
sets = ["all", "dev", "missing"]
reference = "hybrid"

[systems]
SYSTEMS
[sets]

[sets.all]
title = "Every & each"
kb = "tiny"
mentions = "mentions.jsonl"

[sets.dev]
kb = "tiny"
mentions = "mentions.jsonl"
split = "dev"

[sets.missing]
kb = "tiny"
mentions = "nowhere.jsonl"
"""
SYSTEM = """
[systems.NAME]
kbs = ${paths.kbs}

[systems.NAME.candidates]
@misc = "spacy-termlink.TITLECandidates.v1"
"""
CONFIG = CONFIG.replace(
    "SYSTEMS",
    "".join(SYSTEM.replace("NAME", name).replace("TITLE", name.title()) for name in SYSTEMS),
)


def termlink(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_kb):
    folder = tmp_path_factory.mktemp("report")
    (folder / "kb").mkdir()
    (folder / "kb" / "tiny").symlink_to(tiny_kb)
    texts = {
        "heart attack": ["T:0007"], "seizures": ["T:0003"], "small height": ["T:0011"],
        "<b>cleft</b> of the | palate": ["T:0012"], "palatoschizis": ["T:0012"],
        "grand mal": ["T:0005"], "all": ["T:0009"], "something else": [], "abnormality unknown": ["X:1"],
    }  # fmt: skip
    rows = [
        {"id": str(i), "text": text, "concepts": concepts, "doc_id": f"d{i % 4}", "split": "dev" if i % 2 else "test"}
        for i, (text, concepts) in enumerate(texts.items())
    ]  # fmt: skip
    (folder / "mentions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "report.cfg").write_text(CONFIG)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def out(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = termlink("report", "report.cfg", "-o", "out")
        assert result.exit_code == 0, result.output
        assert "Left out: Set missing: there is no nowhere.jsonl." in result.stderr
        assert "bm25" in result.stdout
    return folder / "out"


def test_figures_are_those_of_evaluate(here, out):
    report = json.loads((out / "report.json").read_text())
    assert list(report["sets"]) == ["all", "dev"]
    assert report["left_out"] == ["Set missing: there is no nowhere.jsonl."]
    kb = TermKB.open(here / "kb" / "tiny")
    mentions = prepare_mentions(kb.terminology, read_mentions(here / "mentions.jsonl"))
    results = {name: evaluate_system(kb, mentions, name) for name in SYSTEMS}
    for name, result in results.items():
        expected = summarize(result)
        del expected["mentions_per_second"]
        found = report["sets"]["all"]["systems"][name]
        assert {key: found[key] for key in expected} == json.loads(json.dumps(expected))
    tests = report["sets"]["all"]["differences"]
    assert set(tests) == set(SYSTEMS) - {"hybrid"}
    expected = compare_results(results["bm25"], results["hybrid"])
    assert tests["bm25"] == json.loads(json.dumps(expected))


def test_shares_of_mistakes_and_pairs_add_up(out):
    report = json.loads((out / "report.json").read_text())
    for each in report["sets"].values():
        for system in each["systems"].values():
            shares = sum(m["share"] for m in system["mistakes"].values())
            # the toy has a gold id that no terminology knows: nothing can be right for it
            assert shares == pytest.approx(1 - system["hits@1"])
            for kind in ("positive", "negative"):
                assert sum(system["pairs"][kind]) == system["spearman"][f"n_{kind}"]
            assert system["curve"]["f1"] == sorted(system["curve"]["f1"]) or system["curve"]["f1"]
            assert max(system["curve"]["f1"]) == pytest.approx(system["threshold"]["f1"])


def test_pooled_bands_hold_the_mentions_of_all_sets(out):
    report = json.loads((out / "report.json").read_text())
    assert report["pooled"]["sets"] == ["all", "dev"]
    for name in SYSTEMS:
        for band, pooled in report["pooled"]["by_overlap"][name].items():
            parts = [
                each["systems"][name]["by_overlap"].get(band) for each in report["sets"].values()
            ]
            parts = [part for part in parts if part]
            assert pooled["n"] == sum(part["n"] for part in parts)
            total = sum(part["n"] * part["hits@10"] for part in parts)
            assert pooled["hits@10"] == pytest.approx(total / pooled["n"])


def test_sets_of_one_kb_together(out):
    report = json.loads((out / "report.json").read_text())
    together = report["pooled"]["by_kb"]["tiny"]
    sets = [report["sets"][name] for name in together["sets"]]
    assert together["sets"] == ["all", "dev"]
    assert together["n"] == sum(each["n"] for each in sets)
    for name in SYSTEMS:
        for metric in ("hits@1", "mrr"):
            total = sum(each["n"] * each["systems"][name][metric] for each in sets)
            assert together["systems"][name][metric] == pytest.approx(total / together["n"])
    for name, tests in together["differences"].items():
        total = sum(each["n"] * each["differences"][name]["mrr"]["difference"] for each in sets)
        assert tests["mrr"]["difference"] == pytest.approx(total / together["n"])
        assert tests["mrr"]["ci"][0] <= tests["mrr"]["difference"] <= tests["mrr"]["ci"][1]
    assert set(together["differences"]) == set(SYSTEMS) - {"hybrid"}
    for file in (PAGE, MARKDOWN):
        assert "Sets of the KB tiny together" in (out / file).read_text(encoding="utf8")


def test_worst_errors_are_wrong_and_sorted(out):
    report = json.loads((out / "report.json").read_text())
    worst = report["sets"]["all"]["worst"]
    scores = [row["found"]["score"] for row in worst]
    assert worst and scores == sorted(scores, reverse=True)
    assert all(row["found"]["id"] not in row["concepts"] and row["rank"] != 1 for row in worst)


class Page(HTMLParser):
    """Tags of a page, and whether they close in order."""

    VOID = {"meta", "br", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.captions = [], [], 0

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_systems_over_kbs_with_other_names(here, tiny_terminology, tiny_encoder):
    """As workflow supervised compares them: a band may have mentions for one system only."""
    names = here / "names.jsonl"
    names.write_text(json.dumps({"text": "<b>cleft</b> palate", "concepts": ["T:0012"]}) + "\n")
    index = ("index", tiny_terminology, "--encoder", tiny_encoder, "--add-names", names)
    assert termlink(*index, "-o", "taught/tiny").exit_code == 0
    config = CONFIG.replace('"wordvectors", "ngram", "cls", ', "").replace(
        "[systems.hybrid]\nkbs = ${paths.kbs}", '[systems.hybrid]\nkbs = "taught"'
    )
    (here / "taught.cfg").write_text(config)
    result = termlink("report", "taught.cfg", "-o", "out-taught")
    assert result.exit_code == 0, result.output
    systems = json.loads((here / "out-taught/report.json").read_text())["sets"]["dev"]["systems"]
    before, after = (systems[name]["by_overlap"] for name in ("bm25", "hybrid"))
    assert set(before) != set(after)
    table = (here / "out-taught" / MARKDOWN).read_text().split("Hits@10 by overlap degree")[-1]
    for band in before:
        if before[band]["n"] != after.get(band, {"n": 0})["n"]:
            assert f"{band}, n =" not in table
            assert f", n = {before[band]['n']} |" in table
    assert "| none |" in table


def test_page_is_whole_accessible_and_alone(out):
    text = (out / "report.html").read_text(encoding="utf8")
    page = Page()
    page.feed(text)
    assert page.open == []
    count = [tag for tag, _ in page.tags].count
    assert count("table") == count("caption") == text.count("<thead>") > 8
    assert count("svg") == len(list((out / "charts").iterdir())) == 1 + 2 * 3
    assert count("svg") == count("title") - 1 == count("desc") == count("figcaption")
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "img", "iframe")
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith("#")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not re.search(r"url\((?!#)|@import", text)
    assert "prefers-color-scheme: dark" in text and "@media print" in text
    assert "Toy &lt;1&gt;" in text and "Every &amp; each" in text
    assert "<b>cleft</b>" not in text
    assert "CC0-1.0" in text and "2026-01-01" in text  # licence and release


def test_markdown_has_the_tables_and_links_the_charts(out):
    text = (out / "report.md").read_text(encoding="utf8")
    for target in re.findall(r"\]\((charts/[^)]+)\)", text):
        assert (out / target).is_file()
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("| ") and not lines[i - 1].startswith("| "):  # a header
            columns = len(re.findall(r"(?<!\\)\|", line))
            rows = [row for row in lines[i:] if row][
                : lines[i:].index("") if "" in lines[i:] else None
            ]
            assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows if row[0] == "|"} >= {
                columns
            }
    assert "Every & each" in text


def test_second_run_gives_the_same_bytes_and_replaces_the_first(here, out):
    before = {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert termlink("report", "report.cfg", "-o", out).exit_code == 0
    assert {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_a_folder_that_is_no_report_is_kept(here, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    result = termlink("report", "report.cfg", "-o", tmp_path)
    assert result.exit_code == 2
    assert "TL002" in result.stderr
    assert (tmp_path / "mine.txt").read_text() == "x"
    # nor is what lies beside an old report
    (tmp_path / "report.json").write_text("{}")
    result = termlink("report", "report.cfg", "-o", tmp_path)
    assert result.exit_code == 2 and "TL002" in result.stderr
    assert (tmp_path / "mine.txt").read_text() == "x"


def test_a_set_that_cannot_be_read_is_said_before_any_is_searched(here, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": 3}\n')
    args = ["-o", tmp_path / "out", "--sets.dev.mentions", tmp_path / "bad.jsonl"]
    result = termlink("report", "report.cfg", *args)
    assert result.exit_code == 2 and "TL901" in result.stderr
    assert "mentions with" not in result.stderr


def test_systems_without_a_kb_are_left_out_and_nothing_left_is_an_error(here, tmp_path):
    args = ("report", "report.cfg", "-o", tmp_path / "out", "--paths.kbs", "nowhere")
    result = termlink(*args)
    assert result.exit_code == 2
    assert "TL973" in result.stderr
    assert "System bm25 on set all: there is no KB nowhere/tiny." in result.stderr


def test_a_set_of_nil_mentions_only(here, tmp_path):
    row = {"text": "heart attack", "concepts": [], "doc_id": "d"}
    (tmp_path / "nil.jsonl").write_text(json.dumps(row) + "\n")
    args = ["--sets.all.mentions", tmp_path / "nil.jsonl", "--report.sets", '["all"]',
            "--report.systems", '["ngram", "hybrid"]']  # fmt: skip
    result = termlink("report", "report.cfg", "-o", tmp_path / "out", *args)
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["sets"]["all"]["n_nil"] == 1
    assert report["sets"]["all"]["systems"]["ngram"]["hits@1"] is None
    assert "NaN" not in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"report.reference": "none"}, "TL411"),
        ({"report.systems": []}, "TL411"),
        ({"report.systems": ["hybrid", "odd"]}, "TL971"),
        ({"report.sets": ["odd"]}, "TL971"),
        ({"sets.all.cardinality": "several"}, "TL411"),
        ({"sets.all.bogus": 1}, "TL411"),
        ({"systems.bm25.candidates.@misc": "spacy-termlink.Nothing.v1"}, "TL501"),
        ({"systems.bm25.candidates.bogus": 1}, "TL972"),
        ({"report.sets": ["a/b"]}, "TL411"),
        ({"paths.bogus.deep": 1}, "TL970"),
    ],
)
def test_bad_values_are_named(here, changes, code):
    with pytest.raises(TermlinkError) as error:
        load_config("report.cfg", changes)
    assert error.value.code == code, error.value


def test_bad_files_are_named(tmp_path):
    path = tmp_path / "bad.cfg"
    for text, reason in (("[report\n", "TL970"), ("[other]\na = 1\n", "TL970"), ("", "TL005")):
        path.write_text(text)
        with pytest.raises(TermlinkError) as error:
            load_config(path)
        assert error.value.code == reason


def test_the_configs_of_the_project_are_right():
    config = load_config(ROOT / "configs" / "report.cfg", {"paths.data": "elsewhere"})
    assert [system.name for system in config.systems] == [
        "bm25", "word_vectors", "ngram", "untrained_cls", "untrained_mean", "trained", "hybrid",
    ]  # fmt: skip
    assert list(config.sets) == [
        "hpo_gscplus", "hpo_case_reports", "ncbi_disease", "bc5cdr", "notes_hpo", "notes_icd10cm",
    ]  # fmt: skip
    assert config.sets["bc5cdr"].mentions == "elsewhere/bc5cdr/mentions.jsonl"
    assert np.unique([system.title for system in config.systems]).size == 7
    notes = load_config(ROOT / "configs" / "report_notes.cfg")
    for settings in notes.sets.values():
        assert (ROOT / settings.mentions).is_file() and (ROOT / settings.docs).is_file()
