import json
import logging
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
from spacy.language import Language

from spacy_termlink.annotate import parts as parts_module
from spacy_termlink.annotate.fhir import bundle_class
from spacy_termlink.annotate.inputs import NoteSource
from spacy_termlink.annotate.outputs import FORMATS, Format
from spacy_termlink.annotate.run import run_annotation
from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept

SECRET = "Secretname"


@pytest.fixture
def pipeline(make_nlp, tmp_path):
    """A saved pipeline; its rules find the mentions."""

    def save(**more):
        path = tmp_path / "pipeline"
        make_nlp(**more).to_disk(path)
        return [str(path)]

    return save


@pytest.fixture
def notes(tmp_path):
    def write(*texts, name="notes.jsonl"):
        rows = [{"note_id": f"n{i}", "text": text} for i, text in enumerate(texts)]
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts_module, "PART_NOTES", 2)


TEXTS = ["fever", "no mention", "A Seizure, a headache", "", "qqqqq", "fever fever", "seizures"]


def run(pipeline, notes, out, **more):
    settings = {"format": "jsonl", "rejects": out.with_suffix(".rejects"), **more}
    return run_annotation(pipeline, NoteSource(str(notes)), out, **settings)


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_note_is_accounted_for(pipeline, notes, tmp_path):
    path = notes(*TEXTS)
    with path.open("a") as file:
        file.write('{"note_id": "n0", "text": "fever"}\n{"note_id": "z"}\nbroken\n')
    out = tmp_path / "out.jsonl"
    summary = run(pipeline(), path, out)
    assert (summary.n_annotated, summary.n_rejected) == (7, 3)
    assert (summary.n_mentions, summary.n_nil) == ({"tiny": 7}, {"tiny": 1})
    assert not summary.assessed
    assert [(r["note_id"], r["start"], r["concept_id"]) for r in rows_of(out)] == [
        ("n0", 0, "X:7"), ("n2", 2, "X:3"), ("n2", 13, "X:4"), ("n4", 0, "NIL"), ("n5", 0, "X:7"),
        ("n5", 6, "X:7"), ("n6", 0, "X:3"),
    ]  # fmt: skip
    assert [(r["line"], r["code"]) for r in rows_of(tmp_path / "out.rejects")] == [
        (8, "duplicate_id"), (9, "missing_text"), (10, "broken_json"),
    ]  # fmt: skip
    assert not (tmp_path / "out.jsonl.parts").exists()


def test_the_summary_names_every_kb_in_order(notes, tmp_path, kb_path, other_kb_path):
    kbs = [str(kb_path), str(other_kb_path)]
    summary = run(kbs, notes("fits and a headache of day 2"), tmp_path / "out.jsonl")
    assert list(summary.n_mentions.items()) == [("tiny", 2), ("other", 1)]
    summary = run(kbs[::-1], notes("nothing"), tmp_path / "out.jsonl")
    assert list(summary.n_mentions.items()) == [("other", 0), ("tiny", 0)]


def test_no_note_can_be_read(pipeline, notes, tmp_path):
    path = notes()
    path.write_text("broken\n")
    out = tmp_path / "out.jsonl"
    assert run(pipeline(), path, out).n_rejected == 1
    assert out.read_text() == ""


def test_a_fault_of_the_input_leaves_nothing(pipeline, notes, tmp_path):
    path = notes()
    path.write_text('{"a": 1}\n')
    with pytest.raises(TermlinkError, match="TL802"):
        run(pipeline(), path, tmp_path / "out.jsonl")
    assert not list(tmp_path.glob("out*"))


class Stop(Exception):
    pass


def stop_after(n):
    """Break off once n parts are done, as a kill would."""
    done = []

    def on_part(_):
        done.append(1)
        if len(done) == n:
            raise Stop

    return on_part


@pytest.mark.parametrize("n", [1, 3])
def test_a_run_that_was_stopped_goes_on(pipeline, notes, tmp_path, n):
    saved, path = pipeline(), notes(*TEXTS)
    run(saved, path, tmp_path / "whole.jsonl")
    out = tmp_path / "out.jsonl"
    with pytest.raises(Stop):
        run(saved, path, out, on_part=stop_after(n))
    assert not out.exists()
    taken = []
    run(saved, path, out, resume=True, on_part=taken.append)
    assert sum(taken) == len(TEXTS)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with names")
def test_links_and_pipes_are_written_to_and_stay(pipeline, notes, tmp_path):
    link, pipe = tmp_path / "link.jsonl", tmp_path / "rejects"
    link.symlink_to("real.jsonl")
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        run(pipeline(), notes("fever"), link, rejects=pipe)
        assert read.result(10) == ""
    assert link.is_symlink()
    assert pipe.is_fifo()
    assert len(rows_of(tmp_path / "real.jsonl")) == 1


@pytest.mark.parametrize("bad", ["rejects", "out"])
def test_what_cannot_be_written_is_found_before_the_work(pipeline, notes, tmp_path, bad):
    (tmp_path / "file").write_text("x")
    where = {"rejects": tmp_path / "r", "out": tmp_path / "o.jsonl", bad: tmp_path / "file" / "x"}
    done = []
    with pytest.raises(TermlinkError, match="TL006.*file"):
        run(pipeline(), notes("fever"), where["out"], rejects=where["rejects"], on_part=done.append)
    assert not done


def truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


HOLD = """
import sys
from pathlib import Path
from spacy_termlink.annotate.parts import PartFolder

parts = PartFolder(Path(sys.argv[1]))
with parts.hold():
    parts.begin({"date": "now"}, resume=False)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_a_run_that_another_process_works_on_is_left_alone(pipeline, notes, tmp_path):
    saved, path, out = pipeline(), notes("fever"), tmp_path / "out.jsonl"
    folder = out.with_name("out.jsonl.parts")
    command = [sys.executable, "-c", HOLD, str(folder)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"held\n"
    for resume in (False, True):
        with pytest.raises(TermlinkError, match=r"TL817.*out\.jsonl\.parts"):
            run(saved, path, out, resume=resume)
    assert (folder / "manifest.json").exists()
    other.communicate()
    with pytest.raises(TermlinkError, match="TL809"):  # it has ended, and left a run
        run(saved, path, out)


DAMAGES = {
    "truncated": ("annotations.arrow", truncate),
    "missing": ("rejects.arrow", lambda path: path.unlink()),
    "incomplete": ("result.json", lambda path: path.write_text('{"number": 0}')),
    "a list": ("result.json", lambda path: path.write_text("[]")),
    "empty": ("result.json", lambda path: path.write_text("")),
    "gone": ("result.json", lambda path: path.unlink()),
    "bundles": ("bundles.ndjson", truncate),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_part_is_done_again(pipeline, notes, tmp_path, damage):
    name, harm = DAMAGES[damage]
    form = "fhir" if name == "bundles.ndjson" else "jsonl"
    if form == "fhir":
        pytest.importorskip("fhir.resources")
    saved, path, out = pipeline(), notes(*TEXTS), tmp_path / "out"
    run(saved, path, tmp_path / "whole", format=form)
    with pytest.raises(Stop):
        run(saved, path, out, format=form, on_part=stop_after(3))
    harm(tmp_path / "out.parts" / "part-0000001" / name)
    assert run(saved, path, out, format=form, resume=True).n_annotated == len(TEXTS)
    assert out.read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("content", ["[]", "{}", "", '{"format"'])
def test_a_damaged_manifest_says_what_to_do(pipeline, notes, tmp_path, content):
    saved, path, out = pipeline(), notes(*TEXTS), tmp_path / "out.jsonl"
    with pytest.raises(Stop):
        run(saved, path, out, on_part=stop_after(1))
    (tmp_path / "out.jsonl.parts" / "manifest.json").write_text(content)
    with pytest.raises(TermlinkError, match=r"TL816.*out\.jsonl\.parts.*Delete"):
        run(saved, path, out, resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_that_no_run_made_stays(pipeline, notes, tmp_path, resume):
    mine = tmp_path / "out.jsonl.parts" / "mydata" / "a"
    mine.parent.mkdir(parents=True)
    mine.write_text("p")
    with pytest.raises(TermlinkError, match=r"TL002.*out\.jsonl\.parts"):
        run(pipeline(), notes(*TEXTS), tmp_path / "out.jsonl", resume=resume)
    assert mine.read_text() == "p"


def test_what_a_run_left_while_it_was_deleted_goes(pipeline, notes, tmp_path):
    folder = tmp_path / "out.jsonl.parts"
    for name in ("part-0000001", ".part-0000002.0123abcd.part"):
        (folder / name).mkdir(parents=True)
    (folder / ".output.0123abcd.part").write_text("x")
    run(pipeline(), notes(*TEXTS), tmp_path / "out.jsonl")
    assert not folder.exists()


def test_resume_annotates_only_what_is_left(pipeline, notes, tmp_path):
    saved, path, out = pipeline(), notes(*TEXTS), tmp_path / "out.jsonl"
    with pytest.raises(Stop):
        run(saved, path, out, on_part=stop_after(2))
    first = out.with_name("out.jsonl.parts") / "part-0000000" / "result.json"
    before = first.stat().st_mtime_ns
    with pytest.raises(Stop):
        run(saved, path, out, resume=True, on_part=stop_after(3))
    assert first.stat().st_mtime_ns == before


def test_resume_without_a_run_begins_one(pipeline, notes, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run(pipeline(), notes("fever"), out, resume=True).n_annotated == 1
    assert len(rows_of(out)) == 1


def test_an_unfinished_run_is_not_thrown_away(pipeline, notes, tmp_path):
    saved, path, out = pipeline(), notes(*TEXTS), tmp_path / "out.jsonl"
    with pytest.raises(Stop):
        run(saved, path, out, on_part=stop_after(1))
    with pytest.raises(TermlinkError, match="TL809"):
        run(saved, path, out)


def test_resume_with_something_else_is_refused(pipeline, notes, tmp_path):
    saved, path, out = pipeline(), notes(*TEXTS), tmp_path / "out.jsonl"
    with pytest.raises(Stop):
        run(saved, path, out, on_part=stop_after(3))
    with pytest.raises(TermlinkError, match="TL810.*format jsonl, now parquet"):
        run(saved, path, out, resume=True, format="parquet")
    with pytest.raises(TermlinkError, match="TL810.*other notes"):
        run(saved, notes("changed", *TEXTS[1:], name="b.jsonl"), out, resume=True)
    with pytest.raises(TermlinkError, match="TL810.*more notes"):
        run(saved, notes(*TEXTS[:4], name="c.jsonl"), out, resume=True)
    with pytest.raises(TermlinkError, match="TL810.*pipeline"):
        run(pipeline(threshold=0.5), path, out, resume=True)
    # none of the refusals cost what was done
    run(pipeline(), path, out, resume=True)
    assert len(rows_of(out)) == 7


def test_output_does_not_depend_on_the_number_of_processes(pipeline, notes, tmp_path):
    saved, path = pipeline(), notes(*TEXTS)
    run(saved, path, tmp_path / "one.jsonl")
    run(saved, path, tmp_path / "two.jsonl", n_process=2)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_an_old_output_stays_until_the_new_one_is_whole(pipeline, notes, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("old")
    saved, path = pipeline(), notes(*TEXTS)
    with pytest.raises(Stop):
        run(saved, path, out, on_part=stop_after(4))
    assert out.read_text() == "old"
    run(saved, path, out, resume=True)
    assert len(rows_of(out)) == 7


def test_the_input_is_never_overwritten(pipeline, notes, tmp_path):
    path = notes("fever")
    before = path.read_text()
    with pytest.raises(TermlinkError, match="TL814"):
        run(pipeline(), path, path)
    with pytest.raises(TermlinkError, match="TL814"):
        run(pipeline(), path, tmp_path / "o.jsonl", rejects=path)
    with pytest.raises(TermlinkError, match="TL008"):
        run(pipeline(), path, tmp_path)
    assert path.read_text() == before


def test_a_kill_while_the_output_is_written_leaves_nothing_beside_it(
    pipeline, notes, tmp_path, monkeypatch
):
    saved, path, out = pipeline(), notes("fever"), tmp_path / "out.jsonl"

    def stop(run, path):
        path.write_text("half")
        patch.setattr("pathlib.Path.unlink", lambda *args, **kwargs: None)  # no clean-up
        raise Stop

    with monkeypatch.context() as patch:
        patch.setitem(FORMATS, "jsonl", Format((".jsonl",), stop))
        with pytest.raises(Stop):
            run(saved, path, out)
    left = sorted(p.name for p in tmp_path.glob("*out*"))
    assert left == ["out.jsonl.parts", "out.rejects"]
    run(saved, path, out, resume=True)
    assert sorted(p.name for p in tmp_path.glob("*out*")) == ["out.jsonl", "out.rejects"]


def test_an_output_is_not_put_among_the_notes(pipeline, notes, tmp_path):
    path = notes("fever")
    with pytest.raises(TermlinkError, match="TL866.*out.jsonl"):
        run(pipeline(), path.parent, tmp_path / "out.jsonl", rejects=tmp_path.parent / "r")
    with pytest.raises(TermlinkError, match="TL866.*r.jsonl"):
        run(pipeline(), path.parent, tmp_path.parent / "o.jsonl", rejects=tmp_path / "r.jsonl")
    assert not list(tmp_path.glob("*.parts"))


@Language.component("chatty")
def chatty(doc):
    if SECRET not in doc.text:  # the patterns of the rules pass through here when they are added
        return doc
    logging.getLogger("spacy").warning("text: %s", doc.text)
    logging.getLogger("other").error(doc.text)
    warnings.warn(doc.text, stacklevel=1)
    if "boom" in doc.text:
        raise RuntimeError(doc.text)
    return doc


def test_no_note_text_in_logs_warnings_or_rejects(
    pipeline, notes, tmp_path, capfd, caplog, monkeypatch
):
    path = notes(f"{SECRET} fever", f"{SECRET} boom", f"{SECRET}\0")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        summary = run(pipeline(before=["chatty"]), path, tmp_path / "out.parquet", format="parquet")
    assert (summary.n_annotated, summary.n_rejected) == (1, 2)
    captured = capfd.readouterr()
    assert SECRET not in captured.out + captured.err + caplog.text
    assert SECRET not in (tmp_path / "out.rejects").read_text()
    assert caplog.records


def test_an_unexpected_exception_says_where_and_not_what(pipeline, notes, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise KeyError(f"{SECRET} in a message")

    monkeypatch.setattr("spacy_termlink.annotate.workers.annotate_batch", fail)
    with pytest.raises(TermlinkError, match="TL811.*KeyError at test_run.py") as caught:
        run(pipeline(), notes("fever"), tmp_path / "out.jsonl")
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__


def test_logs_are_as_before_when_the_run_is_over(pipeline, notes, tmp_path, caplog):
    run(pipeline(), notes("fever"), tmp_path / "out.jsonl")
    logging.getLogger("other").error("visible")
    assert "visible" in caplog.text


COMMAND = """
import sys, time
from spacy_termlink.annotate import parts, core
parts.PART_NOTES = 2
original = core.annotate_batch
def slow(*args, **kwargs):
    time.sleep(0.05)
    return original(*args, **kwargs)
from spacy_termlink.annotate import workers
workers.annotate_batch = slow
from spacy_termlink.annotate.fhir import bundle_class
from spacy_termlink.annotate.inputs import NoteSource
from spacy_termlink.annotate.run import run_annotation
from pathlib import Path
pipeline, notes, out = sys.argv[1:4]
run_annotation([pipeline], NoteSource(notes), Path(out), format="jsonl",
               rejects=Path(out + ".rejects"), resume=True)
"""


def kill_and_resume(saved, path, out, delays):
    command = [sys.executable, "-c", COMMAND, saved[0], str(path), str(out)]
    killed = 0
    for delay in delays:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        folder = out.with_name(f"{out.name}.parts")
        while not (folder / "manifest.json").exists() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(delay)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        if out.exists():
            return killed
    subprocess.run(command, check=True, capture_output=True)
    return killed


def test_kill_and_resume_gives_the_same(pipeline, notes, tmp_path):
    saved, path = pipeline(), notes(*(TEXTS * 6))
    run(saved, path, tmp_path / "whole.jsonl")
    out = tmp_path / "out.jsonl"
    assert kill_and_resume(saved, path, out, [0.2]) == 1
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not out.with_name("out.jsonl.parts").exists()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_kills(pipeline, notes, tmp_path, seed):
    import random

    rng = random.Random(seed)
    saved, path = pipeline(), notes(*(TEXTS * 10))
    run(saved, path, tmp_path / "whole.jsonl")
    out = tmp_path / "out.jsonl"
    kill_and_resume(saved, path, out, [rng.random() * 0.6 for _ in range(6)])
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.slow
def test_processes_leave_with_a_killed_parent(pipeline, notes, tmp_path):
    import psutil

    saved, path = pipeline(), notes(*(TEXTS * 50))
    script = tmp_path / "script.py"
    body = COMMAND.replace("resume=True", "n_process=2").strip().replace("\n", "\n    ")
    script.write_text(f"if __name__ == '__main__':\n    {body}\n")
    command = [sys.executable, str(script), saved[0], str(path), str(tmp_path / "o")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.time() + 60
        while not any((tmp_path / "o.parts").glob("part-*")) and time.time() < deadline:
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive


def test_kbs_and_a_pipeline_do_not_mix(pipeline, notes, tmp_path, kb_path):
    with pytest.raises(TermlinkError, match="TL807"):
        run([*pipeline(), str(kb_path)], notes("fever"), tmp_path / "o.jsonl")


def test_what_is_no_pipeline(notes, tmp_path):
    spacy.blank("en").to_disk(tmp_path / "empty")
    with pytest.raises(TermlinkError, match="TL806"):
        run([str(tmp_path / "empty")], notes("fever"), tmp_path / "o.jsonl")
    with pytest.raises(TermlinkError, match="TL805"):
        run([str(tmp_path / "none")], notes("fever"), tmp_path / "o.jsonl")
    assert not list(tmp_path.glob("o.*"))


def test_fhir_has_a_bundle_for_every_note_with_any_number_of_processes(pipeline, notes, tmp_path):
    pytest.importorskip("fhir.resources")
    name, file = pipeline(), notes(*TEXTS)
    outs = [tmp_path / f"o{n}.fhir" for n in (1, 2)]
    for n, out in enumerate(outs, 1):
        summary = run(name, file, out, format="fhir", n_process=n)
    assert outs[0].read_bytes() == outs[1].read_bytes()
    bundles = rows_of(outs[0])
    assert [b["identifier"]["value"] for b in bundles] == [f"n{i}" for i in range(len(TEXTS))]
    assert sum(len(b.get("entry", ())) for b in bundles) == sum(summary.n_mentions.values())


def test_ids_that_fhir_refuses_do_not_end_the_run(make_nlp, make_kb, notes, tmp_path):
    pytest.importorskip("fhir.resources")
    kb = make_kb(tmp_path / "kb", [Concept("A  1", "fever"), Concept("A 2", "headache")])
    make_nlp(kbs=[kb], threshold=0.5).to_disk(tmp_path / "pipeline")
    file, out = notes("fever", "headache", "nothing"), tmp_path / "o.fhir"
    summary = run([str(tmp_path / "pipeline")], file, out, format="fhir")
    assert (summary.n_annotated, summary.n_uncoded) == (3, 1)
    assert len(out.read_text().splitlines()) == 3
    assert "A  1" in out.read_text()
    assert run([str(tmp_path / "pipeline")], file, tmp_path / "o.jsonl").n_uncoded is None


def test_without_the_library_of_fhir_nothing_is_begun(pipeline, notes, tmp_path, monkeypatch):
    bundle_class.cache_clear()
    monkeypatch.setitem(sys.modules, "fhir.resources.R4B.bundle", None)
    with pytest.raises(TermlinkError, match="TL004"):
        run(pipeline(), notes(*TEXTS), tmp_path / "o.fhir", format="fhir")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes.jsonl", "pipeline"]
