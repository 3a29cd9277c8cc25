"""A real Ray, on this machine. Its start takes a while: slow."""

import sys

import pyarrow as pa
import pytest

from spacy_termlink.annotate.core import ANNOTATIONS
from spacy_termlink.annotate.ray import annotate
from spacy_termlink.errors import MissingExtraError, TermlinkError


@pytest.fixture
def ray(tmp_path):
    ray = pytest.importorskip("ray", reason="extra `ray` is not installed")
    ray.init(
        num_cpus=2,
        object_store_memory=100 * 2**20,
        include_dashboard=False,
        logging_level="ERROR",
        _temp_dir="/tmp/ray-termlink",  # noqa: S108 - the path of its sockets must be short
    )
    yield ray
    ray.shutdown()


@pytest.mark.slow
def test_rows_are_those_of_the_core(ray, kb_path):
    from spacy_termlink.annotate.engine import annotate_slices, load_once, make_task

    texts = ["fever", "", "A Seizure, a headache", "😀 pyrexia\r\nfits", None] * 20
    columns = {"id": [str(i) for i in range(100)], "text": texts, "ward": list(range(100))}
    table = pa.table(columns)
    task = make_task(kb_path, table.column_names, text="text", id="id", rejects=False)
    expected = [
        row
        for batch in table.to_batches()
        for found in annotate_slices(task, load_once(task.pipeline), batch)
        for row in found.to_pylist()
    ]
    ds = ray.data.from_arrow([table.slice(0, 60), table.slice(60)])
    found = annotate(ds, kb_path, actors=2, batch_size=16).take_all()

    def in_order(rows):
        return sorted(rows, key=lambda row: (int(row["note_id"]), row["start"]))

    assert in_order(found) == in_order(expected)
    assert list(found[0]) == [*ANNOTATIONS.names, "ward"]
    refused = annotate(ds, kb_path, rejects=True).filter(lambda row: row["reject"]).take_all()
    assert sorted(row["ward"] for row in refused) == list(range(4, 100, 5))
    with pytest.raises(TermlinkError, match="TL860"):
        annotate(ds, kb_path, text="note")


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(MissingExtraError, match=r"spacy-termlink\[ray\]"):
        annotate(None, "kb")
