import contextlib
import threading
import time

import pytest
from spacy.language import Language

from spacy_termlink.annotate.pipelines import load_pipeline
from spacy_termlink.encoders import load_encoder
from spacy_termlink.kb import build_kb
from spacy_termlink.terminology import Concept, Name, Relation
from spacy_termlink.terminology.builder import build_terminology

#: A name that is html, where any text of the terminology could be: it must stay text.
EVIL = '<script>document.title="evil"</script><img src=x onerror="document.title=1">'
CONCEPTS = (
    Concept("S:1", "abnormality"),
    Concept("S:2", "seizure", [Name("epileptic fit"), Name("fits", "layperson")],
            relations=[Relation("is_a", "S:1")], alt_ids=["S:0002"], semantic_types=["neuro"],
            definition="A sudden discharge."),
    Concept("S:3", "absence seizure", relations=[Relation("is_a", "S:2")]),
    Concept("S:4", EVIL, [Name("evil finding")], relations=[Relation("is_a", "S:2")],
            semantic_types=[EVIL], definition=EVIL),
    Concept("http://example.org/a/b", "finding with an address"),
    Concept("S:9", "old finding", obsolete=True),
)  # fmt: skip


@Language.component("tests_serve_slow")
def tests_serve_slow(doc):
    """Takes its time over a note that asks for it."""
    if "slowly" in doc.text:
        time.sleep(1.0)
    return doc


@Language.component("tests_serve_broken")
def tests_serve_broken(doc):
    """Fails on some notes, and quotes them."""
    if "breaks" in doc.text:
        raise ValueError(f"cannot read {doc.text}")
    return doc


@pytest.fixture(scope="session")
def evil():
    return EVIL


@pytest.fixture(scope="session")
def serve_kb(tmp_path_factory, tiny_encoder):
    """Folder of a KB with a name that is html."""
    folder = tmp_path_factory.mktemp("serve")
    meta = {"source": "tiny", "release": "2026-01", "licence": "<b>test</b>", "shareable": True,
            "url": "https://example.org/term/{id}"}  # fmt: skip
    build_terminology(CONCEPTS, folder / "terminology", meta=meta)
    encoder = load_encoder(tiny_encoder, dtype="float32")
    return build_kb(folder / "terminology", encoder, folder / "tiny", progress=False).path


@pytest.fixture(scope="session")
def pipeline(serve_kb):
    nlp = load_pipeline([str(serve_kb)])
    nlp.add_pipe("tests_serve_slow")
    nlp.add_pipe("tests_serve_broken")
    return nlp


@pytest.fixture(scope="session")
def run_server():
    """`with run_server(app) as address`: a real server on a free port, in a thread."""
    uvicorn = pytest.importorskip("uvicorn", reason="needs the extra serve")
    from spacy_termlink.serve.run import address_of, listen

    @contextlib.contextmanager
    def run(app):
        with listen("127.0.0.1", 0) as bound:
            server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
            thread.start()
            try:
                yield address_of(bound)
            finally:
                server.should_exit = True
                thread.join()

    return run


@pytest.fixture(scope="session")
def served(pipeline):
    from spacy_termlink.serve.served import Served

    return Served(pipeline)


@pytest.fixture(scope="session")
def address(served, run_server):
    """Address of a server over the pipeline, with narrow limits."""
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from spacy_termlink.serve.app import make_app
    from spacy_termlink.serve.guard import Limits

    limits = Limits(max_chars=2_000, seconds=0.5, max_search_chars=100)
    with run_server(make_app(served, limits=limits)) as found:
        yield found
