import errno
import json
import os
import subprocess
import sys

import pytest
import typer

from spacy_termlink.cli._common import (
    fail,
    keep_inputs,
    print_table,
    progress,
    run_clean,
    save_json,
)
from spacy_termlink.errors import TermlinkError


def run(error):
    def command():
        raise error

    with pytest.raises(typer.Exit) as caught:
        run_clean(command)()
    return caught.value.exit_code


@pytest.mark.parametrize(
    "error, code, message",
    [
        (TermlinkError("TL001", path="x"), 2, "[TL001] No such file or folder: x."),
        (OSError(errno.ENOSPC, "No space left on device", "x"), 2, "x: No space left on device"),
        (OSError("the library's own words"), 2, "the library's own words"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (UnicodeDecodeError("utf8", b"\xff", 0, 1, "bad"), 2, "not UTF-8 text: bad at byte 0"),
    ],
)
def test_one_line_and_an_exit_code(capsys, error, code, message):
    assert run(error) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("termlink: error: ") and captured.err.count("\n") == 1
    assert message in captured.err


def test_a_message_of_several_lines_becomes_one(capsys):
    with pytest.raises(typer.Exit):
        fail("one\n  two")
    assert capsys.readouterr().err == "termlink: error: one two\n"


def test_a_fault_of_the_program_stays_visible():
    with pytest.raises(ZeroDivisionError):
        run_clean(lambda: 1 / 0)()


def test_results_pass_through():
    assert run_clean(lambda: 7)() == 7


def test_a_reader_that_goes_away_is_no_error():
    code = (
        "from spacy_termlink.cli._common import run_clean\n"
        "@run_clean\n"
        "def command():\n"
        "    for i in range(100000): print(i)\n"
        "command()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    process.stdout.close()
    assert b"BrokenPipe" not in process.stderr.read()
    process.wait()


def test_table_is_aligned(capsys):
    print_table(["", "a", "long"], [["x", 1, 2], ["longer", 10, 20]])
    assert capsys.readouterr().out == "         a  long\nx        1     2\nlonger  10    20\n"


def test_progress_is_silent_off_a_terminal(capsys):
    assert list(progress([1, 2], desc="Reading", unit="lines")) == [1, 2]
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_progress_shows_rate_and_time_left():
    import fcntl
    import pty
    import struct
    import termios

    code = (
        "from spacy_termlink.cli._common import progress\n"
        "import time\n"
        "for _ in progress(range(3), desc='Reading', unit='lines'): time.sleep(0.2)"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 1024):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    process.wait()
    assert b"Reading" in shown and b"lines/s" in shown and b"<" in shown


def test_json_to_a_file_or_to_stdout(tmp_path, capsys):
    save_json(None, {"a": 1})
    save_json(tmp_path / "a.json", {"a": 0.1 + 0.2})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 0.1 + 0.2}
    assert capsys.readouterr().out == ""
    from pathlib import Path

    save_json(Path("-"), {"a": "ü"})
    assert json.loads(capsys.readouterr().out) == {"a": "ü"}


def test_outputs_are_neither_inputs_nor_each_other_nor_folders(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    keep_inputs((one, None), (two, None))
    with pytest.raises(TermlinkError, match="TL906"):
        keep_inputs((one,), (two, one))
    with pytest.raises(TermlinkError, match="TL909"):
        keep_inputs((), (one, tmp_path / "x" / ".." / "one"))
    with pytest.raises(TermlinkError, match="TL008"):
        keep_inputs((), (one, tmp_path))
    keep_inputs((), (one, tmp_path), folder=tmp_path)
    one.write_text("x")
    with pytest.raises(TermlinkError, match=r"TL006.*x\.json"):
        keep_inputs((), (one / "x.json",))
