"""The API, asked over a real connection."""

import concurrent.futures
import re
import socket
import time

import pytest

from spacy_termlink.errors import MESSAGES

httpx = pytest.importorskip("httpx", reason="needs httpx (extra dev)")


@pytest.fixture(scope="module")
def client(address):
    with httpx.Client(base_url=address, timeout=30) as client:
        yield client


def refusal(response):
    """Status and code of a refusal, which has one form everywhere."""
    assert list(response.json()) == ["detail"]
    return response.status_code, response.json()["detail"][1:6]


# --- search


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_search_ranks_concepts(client, method):
    asked = {"text": "epileptic fits", "k": 2}
    where = {"params": asked} if method == "GET" else {"json": asked}
    found = client.request(method, "/search", **where).json()
    assert (found["kb"], found["release"]) == ("tiny", "2026-01")
    assert len(found["candidates"]) == 2
    assert found["candidates"][0] == {
        "id": "S:2", "name": "seizure", "matched": "epileptic fit", "kind": "exact", "score": 1.0,
        "probability": None, "tier": "exact", "definition": "A sudden discharge.",
        "page": "https://example.org/term/S:2",
    }  # fmt: skip


def test_search_answers_as_the_kb_does(client, served):
    expected = served.kb().generator().generate(["seizur of absence"], k=10)[0]
    found = client.post("/search", json={"text": "seizur of absence"}).json()["candidates"]
    assert [(c["id"], c["score"]) for c in found] == [(c.concept_id, c.score) for c in expected]


@pytest.mark.parametrize(
    "asked, expected",
    [
        ({"text": " \u200b"}, (422, "TL907")),
        ({"text": "a\0b"}, (422, "TL855")),
        ({"text": "x" * 101}, (413, "TL851")),
        ({"text": "x", "kb": "none"}, (404, "TL854")),
    ],
)
def test_search_refuses(client, asked, expected):
    assert refusal(client.post("/search", json=asked)) == expected


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"text": ["secretword"]}', b'{"text": "secretword", "k": 0}', b'{"more": "secretword"}',
     b'{"text": "secretword \\ud800"}', b"\xff\xfe", b"[" * 2000, b'"secretword"', b'{"secretword'],
)  # fmt: skip
def test_a_body_in_another_form_is_refused_without_repeating_it(client, body):
    response = client.post("/search", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    assert list(response.json()) == ["detail"] and "secretword" not in response.text


# --- concepts


def test_concept(client, evil):
    assert client.get("/concept/S:2").json() == {
        "id": "S:2", "kb": "tiny", "release": "2026-01", "name": "seizure",
        "definition": "A sudden discharge.", "semantic_types": ["neuro"], "obsolete": False,
        "page": "https://example.org/term/S:2",
        "names": [{"text": "seizure", "kind": "preferred", "language": "en"},
                  {"text": "epileptic fit", "kind": "exact", "language": "en"},
                  {"text": "fits", "kind": "layperson", "language": "en"}],
        "n_names": 3,
        "parents": [{"id": "S:1", "name": "abnormality"}], "n_parents": 1,
        "children": [{"id": "S:3", "name": "absence seizure"}, {"id": "S:4", "name": evil}],
        "n_children": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    "asked, expected",
    [
        ("S:0002", "S:2"),
        ("S%3A2", "S:2"),
        ("http://example.org/a/b", "http://example.org/a/b"),
        ("http%3A%2F%2Fexample.org%2Fa%2Fb", "http://example.org/a/b"),
    ],
)
def test_concept_by_other_spellings_of_its_id(client, asked, expected):
    assert client.get(f"/concept/{asked}").json()["id"] == expected


def test_a_retired_concept_says_so(client):
    found = client.get("/concept/S:9?kb=tiny").json()
    assert (found["obsolete"], found["names"], found["n_names"]) == (True, [], 0)


def test_of_many_children_some_are_listed_and_all_counted(client, monkeypatch):
    monkeypatch.setattr("spacy_termlink.serve.served.MOST_SHOWN", 1)
    found = client.get("/concept/S:2").json()
    assert [len(found[part]) for part in ("names", "parents", "children")] == [1, 1, 1]
    assert [found[f"n_{part}"] for part in ("names", "parents", "children")] == [3, 1, 2]


def test_unknown_concept_and_kb(client):
    assert refusal(client.get("/concept/S:77")) == (404, "TL107")
    assert refusal(client.get("/concept/S:2?kb=none")) == (404, "TL854")


# --- notes

NOTE = "😀 Two fits, an Epileptic  Fit, an evil finding."


def test_annotate(client, evil):
    found = client.post("/annotate", json={"text": NOTE}).json()
    assert found["assessed"] is False
    rows = found["annotations"]
    assert [(NOTE[row["start"] : row["end"]], row["concept_id"]) for row in rows] == [
        ("fits", "S:2"), ("Epileptic  Fit", "S:2"), ("evil finding", "S:4"),
    ]  # fmt: skip
    assert rows[0]["page"] == "https://example.org/term/S:2"
    assert (rows[0]["kb"], rows[0]["score"], rows[2]["concept_name"]) == ("tiny", 1.0, evil)


def test_a_note_without_mentions(client):
    assert client.post("/annotate", json={"text": ""}).json()["annotations"] == []


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x" * 2001, (413, "TL851")),
        ("x " * 20_000, (413, "TL851")),  # by the bytes of the body
        ("a\0b", (422, "TL855")),
        ("this breaks it", (422, "TL855")),
        ("slowly", (504, "TL852")),
    ],
)
def test_annotate_refuses(client, text, expected):
    assert refusal(client.post("/annotate", json={"text": text})) == expected


@pytest.mark.parametrize("path", ["/annotate", "/search"])
@pytest.mark.parametrize(
    "body",
    [b'{"text": "f\xeevre"}', b'{"text": "secretword', b"", b'["secretword"]', b'{"secretword": 1}',
     b"\xff\xfe", b"[" * 9_000],
)  # fmt: skip
def test_a_body_that_is_no_request(client, path, body):
    response = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refusal(response) == (422, "TL858") and "[[" not in response.text


@pytest.mark.parametrize(
    "method, path, status",
    [("GET", "/nowhere", 404), ("GET", "/static/x", 404), ("DELETE", "/search", 405),
     ("GET", "/search", 422), ("GET", "/search?text=a&k=0", 422)],
)  # fmt: skip
def test_a_request_for_what_is_not_there(client, method, path, status):
    assert refusal(client.request(method, path)) == (status, "TL858")


def test_after_a_refusal_it_goes_on(client):
    assert client.post("/annotate", json={"text": "slowly"}).status_code == 504
    time.sleep(1.2)  # the slow note keeps its thread
    assert client.post("/annotate", json={"text": "fits"}).status_code == 200


def test_long_bodies_without_a_length_are_cut_off(client):
    chunks = (b"x" * 4096 for _ in range(100))
    assert refusal(client.post("/annotate", content=chunks)) == (413, "TL851")


def test_a_body_that_does_not_come_is_given_up(address):
    host, port = re.match(r"http://(.*):(\d+)/", address).groups()
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(
            b"POST /annotate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


def test_several_clients_get_what_one_gets(served, run_server):
    from spacy_termlink.serve.app import make_app

    notes = [
        f"Patient {i} had fits and word{i}, an evil finding{'s' * (i % 2)}." for i in range(24)
    ]
    expected = [served.annotate(note) for note in notes]
    with run_server(make_app(served)) as address:

        def ask(note):
            found = httpx.post(f"{address}annotate", json={"text": note}, timeout=60).json()
            looked = httpx.post(f"{address}search", json={"text": "fitz"}, timeout=60).json()
            return found, looked

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(ask, notes))
    assert [found for found, _ in answers] == expected
    assert all(looked == served.search("fitz") for _, looked in answers)


def test_the_vocabulary_does_not_grow_with_the_notes(client, served):
    if not hasattr(served.nlp, "memory_zone"):
        pytest.skip("spaCy before 3.8 has no memory zones")
    vocab = served.nlp.vocab  # its len() counts what it ever saw: count what it holds
    before = len(vocab.strings), len(list(vocab))
    for i in range(20):
        text = " ".join(f"unseen{i}x{j}" for j in range(50))
        assert client.post("/annotate", json={"text": text}).status_code == 200
    assert (len(vocab.strings), len(list(vocab))) == before


def test_too_many_waiting_requests_are_refused(served, run_server, monkeypatch):
    from spacy_termlink.serve import app

    monkeypatch.setattr(app, "MOST_WAITING", 2)
    with run_server(app.make_app(served)) as address:

        def ask(_):
            return httpx.post(f"{address}annotate", json={"text": "slowly"}, timeout=30)

        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(ask, range(5)))
    refused = [a for a in answers if a.status_code == 503]
    assert len(refused) == 3
    assert refusal(refused[0]) == (503, "TL853") and refused[0].headers["Retry-After"] == "1"


# --- the server around it


def test_health(client):
    found = client.get("/health").json()
    assert found["status"] == "ok" and found["max_chars"] == 2_000
    assert found["kbs"] == [
        {"name": "tiny", "release": "2026-01", "licence": "<b>test</b>", "n_concepts": 5, "n_names": 8}
    ]  # fmt: skip
    assert found["pipeline"][:3] == ["term_abbreviations", "term_matcher", "term_linker"]


def test_openapi_describes_each_route(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/search", "/annotate", "/concept/{concept_id}", "/health"}
    page = client.get("/docs").text
    assert all(path in page for path in paths) and "POST /annotate" in page


@pytest.mark.parametrize("path", ["/", "/docs", "/static/app.js", "/static/style.css"])
def test_pages_load_nothing_from_elsewhere(client, path):
    response = client.get(path)
    assert response.status_code == 200
    addresses = re.findall(r"https?://[^\s'\"<]+", response.text)
    assert [a for a in addresses if not a.startswith("http://127.0.0.1:8765/")] == []  # examples
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", response.text
    )
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", response.text)


@pytest.mark.parametrize("path", ["/static/index.html", "/static/../app.py", "/static/..%2Fapp.py"])
def test_no_other_file_is_handed_out(client, path):
    assert client.get(path).status_code == 404


def test_another_host_name_is_refused(client):
    response = client.get("/health", headers={"Host": "elsewhere.example"})
    assert refusal(response) == (421, "TL856")
    assert client.get("/health", headers={"Host": "localhost:1"}).status_code == 200


def test_the_log_holds_no_text(run_server, served):
    from spacy_termlink.serve.app import make_app

    log = []  # of a server of its own: a line is written after its answer, an earlier test's too
    with (
        run_server(make_app(served, log=log.append)) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        _ask_for_secrets(client)
    assert "secretword" not in "".join(log).lower().replace("secretword /health", "")
    # the lines may change places
    assert sorted(re.sub(r" \d+ ms", "", line) for line in log if "/health" not in line) == [
        "GET * 404", "GET /concept/* 404", "GET /search 200", "POST /annotate 422",
    ]  # fmt: skip
    assert len(log) == 5


def _ask_for_secrets(client):
    client.get("/search", params={"text": "secretword"})
    client.get("/concept/secretword")
    client.get("/secretword?secretword")
    client.post("/annotate", json={"text": "the secretword breaks it"})
    client.request("SECRETWORD", "/health")


def test_a_fault_is_logged_by_type_and_place(run_server, served, monkeypatch, capfd):
    from spacy_termlink.serve.app import make_app

    def fail(text, **_):
        raise RuntimeError(f"about {text}")

    monkeypatch.setattr(served, "search", fail)
    lines = []
    with run_server(make_app(served, log=lines.append)) as address:
        response = httpx.get(f"{address}search", params={"text": "secretword"})
    assert response.status_code == 500 and "secretword" not in response.text
    assert lines[0].startswith("RuntimeError at test_api.py:")
    assert "secretword" not in "".join(lines) + "".join(capfd.readouterr())


def test_statuses_are_those_of_existing_messages():
    from spacy_termlink.serve.app import STATUS

    assert set(STATUS) <= set(MESSAGES)
