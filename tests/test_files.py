import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.files import (
    _held,
    atomic_file,
    atomic_folder,
    check_writable,
    read_json,
    restore_folder,
    write_json,
)


def test_json_keeps_every_digit(tmp_path):
    """srsly writes nine digits and reads 0.6 as 0.6000000000000001."""
    data = {"threshold": 0.6, "weights": [1e-20, 0.1234567890123456, 1 / 3], "name": "é"}
    write_json(tmp_path / "a.json", data)
    assert read_json(tmp_path / "a.json") == data


def test_what_is_no_json_is_named(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"a": \xff')
    with pytest.raises(TermlinkError, match=r"TL003.*a\.json"):
        read_json(tmp_path / "a.json")


def test_a_link_stays_and_what_it_names_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("old", "new"):  # the second leads to no file yet
        link = tmp_path / f"{name}.json"
        link.symlink_to(tmp_path / "there" / name)
        if name == "old":
            (tmp_path / "there" / name).write_text("1")
        write_json(link, 2)
        assert link.is_symlink()
        assert (tmp_path / "there" / name).read_text() == "2\n"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(TermlinkError, match="TL006.*loop"):
        write_json(tmp_path / "loop", 2)
    (tmp_path / "folder").symlink_to(tmp_path / "there")
    with atomic_folder(tmp_path / "folder") as part:
        (part / "a").write_text("a")
    assert (tmp_path / "folder").is_symlink()
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["a"]
    assert not [p.name for p in tmp_path.iterdir() if p.name[0] == "."]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with names")
def test_into_a_pipe_the_whole_is_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit((tmp_path / "pipe").read_text)
            write_json(tmp_path / name, [1])
            assert read.result(10) == "[\n  1\n]\n"
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "pipe"]


def test_what_cannot_be_written_is_known_before(tmp_path):
    (tmp_path / "file").write_text("x")
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "new" / "deep" / "file")
    for path in (tmp_path / "file" / "a" / "b", tmp_path / ("x" * 250)):
        with pytest.raises(TermlinkError, match="TL006"):
            check_writable(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_folders_of_killed_processes_are_removed_and_those_in_use_kept(tmp_path):
    out = tmp_path / "kb [1]"
    dead = tmp_path / f".{out.name}.0123abcd.part"
    fresh = tmp_path / f".{out.name}.fresh000.part"
    other = tmp_path / ".other.0123abcd.part"
    for folder in (dead, fresh, other):
        folder.mkdir()
    (dead / "vectors").write_bytes(b"x")
    with atomic_folder(out) as running:
        for folder in (dead, other, running):
            os.utime(folder, (0, 0))
        with atomic_folder(out) as second:
            (second / "a").write_text("a")
        assert running.is_dir()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([fresh.name, other.name, out.name])


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from spacy_termlink.files import atomic_folder

rename = Path.rename
def killed(self, target):
    if self.suffix == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
Path.rename = killed
if sys.argv[2] == "rmtree":
    shutil.rmtree = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
with atomic_folder(Path(sys.argv[1])) as part:
    (part / "a").write_text("new")
"""


def kill_at(step, out):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(out), step], check=False)
    assert killed.returncode == -signal.SIGKILL


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "a").write_text("old")
    return folder


@pytest.mark.parametrize("fails", [False, True])
def test_a_folder_whose_process_was_killed_between_the_renames_is_put_back(old, fails):
    kill_at(".part", old)
    assert not old.exists()
    if not fails:
        with atomic_folder(old) as part:
            assert (old / "a").read_text() == "old"
            (part / "a").write_text("newer")
        assert (old / "a").read_text() == "newer"
    else:
        with pytest.raises(KeyError), atomic_folder(old):
            raise KeyError
        assert (old / "a").read_text() == "old"
    assert not list(old.parent.glob("*.old"))


def test_a_folder_that_was_replaced_when_its_process_was_killed_is_deleted(old):
    kill_at("rmtree", old)
    assert (old / "a").read_text() == "new"
    assert list(old.parent.glob(".kb.*.old"))
    with atomic_folder(old) as part:
        (part / "a").write_text("newer")
    assert [path.name for path in old.parent.iterdir()] == ["kb"]


def test_a_folder_that_a_living_process_has_moved_aside_stays(old):
    aside = old.rename(old.with_name(".kb.0123abcd.old"))
    with _held(aside) as held:
        assert held
        restore_folder(old)
        with atomic_folder(old) as part:
            (part / "a").write_text("new")
    assert (aside / "a").read_text() == "old" and (old / "a").read_text() == "new"


def test_a_folder_that_cannot_be_made_is_one_of_our_errors(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "x", tmp_path / ("n" * 300)):
        with pytest.raises(TermlinkError, match="TL006"), atomic_folder(path):
            pass


def test_a_file_in_the_place_of_a_folder_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    inside = tmp_path / "file" / "out"
    with pytest.raises(TermlinkError, match="TL006.*file/out"), atomic_file(inside):
        raise AssertionError


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files without a name")
def test_what_is_tried_out_has_no_name_that_a_kill_would_leave(tmp_path, monkeypatch):
    seen = []
    opened = tempfile.TemporaryFile

    def open_and_look(**where):
        file = opened(**where)
        seen.append(list(tmp_path.iterdir()))
        return file

    monkeypatch.setattr(tempfile, "TemporaryFile", open_and_look)
    check_writable(tmp_path / "file")
    assert seen == [[]]
