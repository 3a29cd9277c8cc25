"""A real Spark. Its start takes a while: slow."""

import json
import os
import shutil
import subprocess
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from spacy_termlink.annotate.core import ANNOTATIONS
from spacy_termlink.errors import MissingExtraError, TermlinkError

SCRIPT = Path(__file__).parents[2] / "scripts" / "annotate_spark.py"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
}
TEXTS = [
    "fever", "", "A Seizure, a headache", "😀 pyrexia\r\nfits", "חום fever e\u0301", "no mention",
    "fever " * 30, "fits\tand\nfever",
]  # fmt: skip


def need_spark():
    pytest.importorskip("pyspark", reason="extra `spark` is not installed")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java 17, and there is no java on the path")


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Start a Spark of a master, which ends with the test."""
    need_spark()
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sessions = []

    def make(master):
        builder = SparkSession.builder.master(master).appName("test")
        builder = builder.config("spark.sql.warehouse.dir", str(tmp_path / "warehouse"))
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        sessions.append(builder.getOrCreate())
        return sessions[-1]

    yield make
    import pyspark

    for spark in sessions:
        work = Path(pyspark.__file__).parent / "work" / spark.sparkContext.applicationId
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)  # a local cluster leaves its logs there


@pytest.fixture
def expected(kb_path, tmp_path):
    """What the command writes for the same notes, sorted."""
    return write_notes(tmp_path, kb_path)


def write_notes(folder, kb_path):
    from spacy_termlink.annotate.inputs import NoteSource
    from spacy_termlink.annotate.run import run_annotation

    rows = [{"id": f"n{i}", "text": text} for i, text in enumerate(TEXTS * 3)]
    path = folder / "notes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = folder / "expected.jsonl"
    run_annotation(
        [str(kb_path)], NoteSource(str(path)), out, format="jsonl", rejects=folder / "rejects"
    )
    return in_order(json.loads(line) for line in out.read_text().splitlines())


def in_order(rows):
    return sorted(rows, key=lambda row: (row["note_id"], row["start"], row["end"]))


def as_dicts(df):
    return [row.asDict(recursive=True) for row in df.collect()]


@pytest.mark.slow
@pytest.mark.ci
def test_rows_are_those_of_the_command(start, expected, kb_path, tmp_path):
    from spacy_termlink.annotate.spark import annotate

    spark = start("local[2]")
    df = spark.read.json(str(tmp_path / "notes.jsonl")).repartition(5)
    found = annotate(df, kb_path)
    assert found.columns == ANNOTATIONS.names
    assert in_order(as_dicts(found)) == expected
    found.write.parquet(str(tmp_path / "out.parquet"))
    assert in_order(as_dicts(spark.read.parquet(str(tmp_path / "out.parquet")))) == expected
    # a number as id, other names, a filter after it: Spark may reorder what it likes
    other = df.selectExpr("cast(substr(id, 2) as int) as `nr.1`", "text as body")
    found = annotate(other, str(kb_path), text="body", id="nr.1").where("note_id = '2'")
    assert [row["concept_id"] for row in as_dicts(found)] == ["X:3", "X:4"]
    check_carried_types(spark, kb_path)
    check_rejects(spark, kb_path)
    check_refusals(spark, kb_path)


def check_carried_types(spark, kb_path):
    from spacy_termlink.annotate.spark import annotate

    values = {
        "day": date(2026, 11, 30), "price": Decimal("1.50"), "raw": b"\xff\0", "good": True,
        "when": datetime(2026, 11, 30, 1, 2, 3, tzinfo=timezone.utc).astimezone().replace(tzinfo=None),
        "tags": ["a", None], "lab": {"x": 1.5}, "place": {"ward": "w", "bed": 3}, "nothing": None,
    }  # fmt: skip
    schema = (
        "id long, text string, day date, price decimal(9,2), raw binary, good boolean, when timestamp,"
        " tags array<string>, lab map<string,double>, place struct<ward:string,bed:int>, nothing int"
    )
    df = spark.createDataFrame([(1, "fever and fits", *values.values())], schema)
    found = annotate(df, kb_path)
    assert found.schema.fields[len(ANNOTATIONS) :] == df.schema.fields[2:]
    rows = as_dicts(found)
    assert [{name: row[name] for name in values} for row in rows] == [values, values]
    large = "spark.sql.execution.arrow.useLargeVarTypes"
    spark.conf.set(large, "true")
    assert as_dicts(annotate(df, kb_path)) == rows
    spark.conf.set(large, "false")


def check_rejects(spark, kb_path):
    from spacy_termlink.annotate.spark import annotate

    df = spark.createDataFrame(
        [("a", None, 1), (None, "fever", 2), ("c", "fever", 3), ("d", "fe\0ver", 4)],
        "id string, text string, ward int",
    )
    assert [row["note_id"] for row in as_dicts(annotate(df, kb_path))] == ["c"]
    rows = as_dicts(annotate(df, kb_path, rejects=True).orderBy("ward"))
    assert [(r["note_id"], r["concept_id"], r["reject"], r["ward"]) for r in rows] == [
        ("a", None, "missing_text", 1), (None, None, "missing_id", 2), ("c", "X:7", None, 3),
        ("d", None, "nul_byte", 4),
    ]  # fmt: skip
    # bytes that are no UTF-8: Spark does not look at what a cast makes
    broken = df.selectExpr("id", "cast(X'66FF' as string) as text").where("id = 'c'")
    rows = as_dicts(annotate(broken, kb_path, rejects=True))
    assert [row["reject"] for row in rows] == ["not_utf8"]


def check_refusals(spark, kb_path):
    from spacy_termlink.annotate.spark import annotate

    df = spark.createDataFrame([("a", 1, "x")], "id string, text int, label string")
    with pytest.raises(TermlinkError, match="TL860.*'note'"):
        annotate(df, kb_path, text="note")
    with pytest.raises(TermlinkError, match="TL861.*'label'"):
        annotate(df, kb_path)
    with pytest.raises(TermlinkError, match="TL862.*'text' of the notes is int"):
        annotate(df.drop("label"), kb_path)
    with pytest.raises(TermlinkError, match="TL862.*whole numbers"):
        annotate(df.selectExpr("1.5D as id", "'x' as text"), kb_path)
    with pytest.raises(Exception, match="TL805"):
        annotate(df.selectExpr("id", "'x' as text"), "no/such/kb").collect()


@pytest.mark.slow
def test_a_cluster_gives_the_same(start, expected, kb_path, tmp_path):
    """Two workers, each a process with Python processes of its own; the KB is sent to them."""
    from spacy_termlink.annotate.spark import annotate, ship

    spark = start("local-cluster[2,1,1024]")
    copied = tmp_path / "sent kb"
    shutil.copytree(kb_path, copied)
    name = ship(spark, copied)
    shutil.rmtree(copied)
    df = spark.read.json(str(tmp_path / "notes.jsonl")).repartition(4)
    assert in_order(as_dicts(annotate(df, name))) == expected
    with pytest.raises(TermlinkError, match="TL001"):
        ship(spark, copied)


def submit(*args):
    spark_submit = Path(sys.executable).with_name("spark-submit")
    settings = [part for key, value in SETTINGS.items() for part in ("--conf", f"{key}={value}")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    # spark-submit writes both streams of a Python program to its stdout
    return subprocess.run(
        [str(spark_submit), "--master", "local[2]", *settings, str(SCRIPT), *map(str, args)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_script(expected, kb_path, tmp_path):
    need_spark()
    with (tmp_path / "notes.jsonl").open("a") as file:
        file.write('{"id": "z", "text": null}\n')
    out = tmp_path / "out"
    done = submit(tmp_path / "notes.jsonl", kb_path, "-o", out, "--format", "json")
    assert done.returncode == 3, done.stderr
    assert "25 notes read, 24 annotated, 1 rejected" in done.stdout
    lines = [x for f in out.glob("annotations/*.json") for x in f.read_text().splitlines()]
    rows = [{**dict.fromkeys(ANNOTATIONS.names), **json.loads(line)} for line in lines]
    assert in_order(rows) == expected
    [line] = [x for f in out.glob("rejects/*.json") for x in f.read_text().splitlines()]
    assert json.loads(line) == {"note_id": "z", "code": "missing_text"}
    # an output that is there, and ids that stand twice, are refused in one line
    again = submit(tmp_path / "notes.jsonl", kb_path, "-o", out)
    assert (again.returncode, "[TL002]" in again.stdout) == (2, True), again.stdout
    (tmp_path / "twice.jsonl").write_text('{"id": "a", "text": "x"}\n' * 2)
    twice = submit(tmp_path / "twice.jsonl", kb_path, "-o", tmp_path / "other")
    assert twice.returncode == 2
    assert "[TL863] Ids that stand on more than one note: 1." in twice.stdout
    assert not (tmp_path / "other").exists()


def test_without_spark_the_error_names_the_extra(monkeypatch):
    from spacy_termlink.annotate.spark import annotate

    monkeypatch.setitem(sys.modules, "pyspark.sql.pandas.types", None)
    with pytest.raises(MissingExtraError, match=r"spacy-termlink\[spark\]"):
        annotate(None, "kb")
