"""`termlink serve` as a process: where it listens, what it says, how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.errors import TermlinkError
from spacy_termlink.serve import run

pytest.importorskip("fastapi", reason="needs the extra serve")


def termlink(*args):
    return CliRunner().invoke(app, ["serve", *map(str, args)], catch_exceptions=False)


def one_line(result):
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


def test_a_port_in_use_is_one_line(serve_kb):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"[TL850] Cannot listen on 127.0.0.1, port {port}: " in one_line(
            termlink(serve_kb, "--port", port)
        )


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7", "x" * 300])
def test_a_host_that_is_not_ours_is_one_line(serve_kb, host):
    assert "[TL850]" in one_line(termlink(serve_kb, "--host", host, "--port", 0))


def test_a_privileged_port_is_one_line(monkeypatch, serve_kb):
    def bind(self, address):
        raise PermissionError(13, "Permission denied")  # a test may run as root

    monkeypatch.setattr(socket.socket, "bind", bind)
    assert "port 80: Permission denied" in one_line(termlink(serve_kb, "--port", 80))


def test_what_is_no_kb_is_one_line(tmp_path):
    assert "[TL805]" in one_line(termlink(tmp_path, "--port", 0))


def test_a_missing_library_names_its_extra(monkeypatch, serve_kb):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "'spacy-termlink[serve]'" in one_line(termlink(serve_kb, "--port", 0))


@pytest.mark.parametrize(
    "host, local", [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_loopback_is_known(host, local):
    with run.listen(host, 0) as bound:
        assert run.is_loopback(bound) is local
        assert re.fullmatch(r"http://(127\.0\.0\.1|\[::1\]):\d+/", run.address_of(bound))


def test_listen_refuses_what_is_bound_already():
    with run.listen("127.0.0.1", 0) as bound, pytest.raises(TermlinkError, match="TL850"):
        run.listen("127.0.0.1", bound.getsockname()[1])


@pytest.mark.parametrize("saved", [False, True], ids=["kb", "pipeline"])
def test_it_serves_until_it_is_interrupted(saved, serve_kb, tmp_path):
    path = serve_kb
    if saved:
        import spacy

        nlp = spacy.blank("en")
        ruler = nlp.add_pipe("entity_ruler")
        ruler.add_patterns([{"label": "FINDING", "pattern": "fits"}])
        nlp.add_pipe("term_linker", config={"kb": str(serve_kb)})
        nlp.to_disk(path := tmp_path / "pipeline")
    command = [sys.executable, "-m", "spacy_termlink", "serve", path, "--port", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            said = [process.stderr.readline() for _ in range(2)]
            address = re.search(r"tiny on (http://127\.0\.0\.1:\d+/)", said[1])[1]
            body = json.dumps({"text": "secretword fits"}).encode()
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{address}annotate", body, headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                [row] = json.load(answer)["annotations"]
            assert (row["concept_id"], row["label"]) == ("S:2", "FINDING" if saved else "TERM")
        finally:
            process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=120)
    assert process.returncode == 0, rest
    assert "POST /annotate 200" in rest and rest.endswith("Stopped.\n")
    assert "secretword" not in "".join(said) + rest
