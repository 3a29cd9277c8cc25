"""Saved and loaded pipelines: the KB goes along, or is refused, or is missed by name."""

import gc
import pickle
import shutil
import subprocess
import sys

import pytest
import spacy
import srsly

from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import open_kb

TEXT = "A hole in the heart, seizures, qqq."


def links(doc):
    return [
        (ent.text, ent.kb_id_, ent._.kb_ents, ent._.term_candidates, ent._.term_links)
        for ent in doc.ents
    ]


@pytest.mark.parametrize("save_kb", ["copy", "hardlink", "path"])
def test_save_load_link_the_same(make_nlp, tmp_path, save_kb):
    nlp = make_nlp(save_kb=save_kb)
    expected = links(nlp(TEXT))
    nlp.to_disk(tmp_path / "first")
    loaded = spacy.load(tmp_path / "first")
    assert links(loaded(TEXT)) == expected
    loaded.to_disk(tmp_path / "second")
    assert links(spacy.load(tmp_path / "second")(TEXT)) == expected


def test_a_copied_pipeline_needs_nothing_else(make_nlp, kb_path, tmp_path):
    own_kb = shutil.copytree(kb_path, tmp_path / "kb")
    nlp = make_nlp(kb=str(own_kb))
    nlp.to_disk(tmp_path / "saved")  # before the KB was ever used
    shutil.rmtree(own_kb)
    (tmp_path / "saved").rename(tmp_path / "moved")
    loaded = spacy.load(tmp_path / "moved")
    assert loaded.get_pipe("term_linker").kb.path == tmp_path / "moved" / "term_linker" / "kb"
    assert links(loaded(TEXT))[0][1] == "X:6"
    assert (tmp_path / "moved" / "term_linker" / "model").stat().st_size < 1000


def test_hard_links_share_the_files(make_nlp, kb_path, tmp_path):
    make_nlp(save_kb="hardlink").to_disk(tmp_path / "saved")
    saved = tmp_path / "saved" / "term_linker" / "kb" / "meta.json"
    if kb_path.stat().st_dev == saved.stat().st_dev:
        assert saved.samefile(kb_path / "meta.json")


def test_saving_over_the_folder_a_pipeline_was_loaded_from(make_nlp, tmp_path):
    make_nlp().to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    expected = links(loaded(TEXT))
    loaded.to_disk(tmp_path / "saved")
    assert links(loaded(TEXT)) == expected
    assert links(spacy.load(tmp_path / "saved")(TEXT)) == expected


def test_another_mode_leaves_nothing_of_the_old_one(make_nlp, kb_path, tmp_path):
    component = tmp_path / "saved" / "term_linker"
    make_nlp().to_disk(tmp_path / "saved")
    make_nlp(save_kb="path").to_disk(tmp_path / "saved")
    assert not (component / "kb").exists()
    assert srsly.read_json(component / "kb.json")["path"] == str(kb_path.resolve())
    make_nlp().to_disk(tmp_path / "saved")
    assert (component / "kb" / "meta.json").exists()
    assert not (component / "kb.json").exists()


def test_a_path_to_another_kb_is_noticed(make_nlp, kb_path, other_kb_path, tmp_path):
    own_kb = shutil.copytree(kb_path, tmp_path / "kb")
    make_nlp(kb=str(own_kb), save_kb="path").to_disk(tmp_path / "saved")
    shutil.rmtree(own_kb)
    with pytest.raises(TermlinkError, match="TL001.*kb"):
        spacy.load(tmp_path / "saved")
    shutil.copytree(other_kb_path, own_kb)
    with pytest.raises(TermlinkError, match="TL705.*term_linker"):
        spacy.load(tmp_path / "saved")


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_torn_kb_in_a_saved_pipeline_is_named(make_nlp, tmp_path, damage):
    make_nlp().to_disk(tmp_path / "saved")
    victim = tmp_path / "saved" / "term_linker" / "kb" / "terminology" / "names.arrow"
    if damage == "cut":
        victim.write_bytes(victim.read_bytes()[:-10])
    else:
        victim.unlink()
    with pytest.raises(TermlinkError, match=r"term_linker.kb.*names\.arrow"):
        spacy.load(tmp_path / "saved")


def test_the_saved_kb_comes_before_the_config(make_nlp, other_kb_path, tmp_path):
    make_nlp().to_disk(tmp_path / "saved")
    config = {"components": {"term_linker": {"kb": str(other_kb_path)}}}
    loaded = spacy.load(tmp_path / "saved", config=config)
    assert loaded.get_pipe("term_linker").kb.name == "tiny"
    loaded.get_pipe("term_linker").set_kb(other_kb_path)
    assert loaded("fever").ents[0].kb_id_ == "B50"


def test_settings_changed_later_are_saved_unless_overridden(make_nlp, tmp_path):
    nlp = make_nlp(threshold=0.4)
    nlp.get_pipe("term_linker").cfg["threshold"] = 0.6
    nlp.to_disk(tmp_path / "saved")
    assert spacy.load(tmp_path / "saved").get_pipe("term_linker").cfg["threshold"] == 0.6
    config = {"components": {"term_linker": {"threshold": 0.9}}}
    loaded = spacy.load(tmp_path / "saved", config=config)
    assert loaded.get_pipe("term_linker").cfg["threshold"] == 0.9


def test_exclude_of_the_pipeline_is_not_passed_on(make_nlp):
    """What docs/pipeline.md says of spaCy."""
    nlp = make_nlp()
    whole, linker = len(nlp.to_bytes()), nlp.get_pipe("term_linker")
    assert len(nlp.to_bytes(exclude=["kb"])) == whole
    assert len(linker.to_bytes(exclude=["vocab", "kb"])) < 1000 < len(linker.to_bytes())
    linker.cfg["save_kb"] = "path"
    assert len(nlp.to_bytes()) < whole / 2


def test_exclude_kb(make_nlp, tmp_path):
    linker = make_nlp().get_pipe("term_linker")
    linker.to_disk(tmp_path / "component", exclude=["kb", "vocab"])
    assert sorted(path.name for path in (tmp_path / "component").iterdir()) == ["cfg", "model"]
    empty = make_nlp(kb=None).get_pipe("term_linker")
    empty.from_bytes(linker.to_bytes(exclude=["kb"]))
    with pytest.raises(TermlinkError, match="TL701"):
        empty.open_kb()


def test_a_linker_without_a_kb_can_be_saved(make_nlp, kb_path, tmp_path):
    make_nlp(kb=None).to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    loaded.get_pipe("term_linker").set_kb(kb_path)
    assert links(loaded(TEXT))[0][1] == "X:6"


@pytest.mark.parametrize("save_kb", ["copy", "path"])
def test_bytes(make_nlp, save_kb):
    nlp = make_nlp(save_kb=save_kb)
    expected = links(nlp(TEXT))
    ruler = ["entity_ruler"]  # spaCy's loses patterns with a phrase_matcher_attr on the way
    empty = make_nlp(kb=None, save_kb=save_kb)
    empty.from_bytes(nlp.to_bytes(exclude=ruler), exclude=ruler)
    assert links(empty(TEXT)) == expected
    size = len(nlp.get_pipe("term_linker").to_bytes(exclude=["vocab"]))
    assert size < 1000 if save_kb == "path" else size > 10_000


def test_the_temporary_kb_of_bytes_goes_with_its_linker(make_nlp):
    linker = make_nlp(kb=None).get_pipe("term_linker")
    linker.from_bytes(make_nlp().get_pipe("term_linker").to_bytes())
    folder = linker.kb.path
    assert folder.is_dir()
    del linker
    gc.collect()
    assert not folder.exists()


def test_bytes_cannot_write_elsewhere(make_nlp, tmp_path):
    nlp = make_nlp()
    message = srsly.msgpack_loads(nlp.get_pipe("term_linker").to_bytes(exclude=["vocab"]))
    for name in ("../escaped", str(tmp_path / "escaped")):
        message["kb"] = srsly.msgpack_dumps({"files": {name: b"x"}})
        with pytest.raises(TermlinkError, match="TL706.*escaped"):
            nlp.get_pipe("term_linker").from_bytes(srsly.msgpack_dumps(message))
    assert not (tmp_path / "escaped").exists()


class TestRestrictedLicence:
    @pytest.mark.parametrize("save_kb", ["copy", "hardlink"])
    def test_copying_is_refused(self, make_nlp, restricted_kb_path, tmp_path, save_kb):
        nlp = make_nlp(kb=str(restricted_kb_path), save_kb=save_kb)
        assert nlp("fever").ents[0].kb_id_ == "X:7"
        with pytest.raises(TermlinkError, match="TL702.*restricted.*allow_restricted"):
            nlp.to_disk(tmp_path / "saved")
        assert not list((tmp_path / "saved").rglob("names.arrow"))
        with pytest.raises(TermlinkError, match="TL702"):
            nlp.to_bytes()

    def test_a_path_holds_no_licensed_data(self, make_nlp, restricted_kb_path, tmp_path):
        nlp = make_nlp(kb=str(restricted_kb_path), save_kb="path")
        nlp.to_disk(tmp_path / "saved")
        assert spacy.load(tmp_path / "saved")("fever").ents[0].kb_id_ == "X:7"
        assert len(nlp.get_pipe("term_linker").to_bytes(exclude=["vocab"])) < 1000

    def test_allowed_on_demand(self, make_nlp, restricted_kb_path, tmp_path):
        nlp = make_nlp(kb=str(restricted_kb_path), allow_restricted=True)
        nlp.to_disk(tmp_path / "saved")
        assert (tmp_path / "saved" / "term_linker" / "kb" / "meta.json").exists()
        make_nlp(kb=None).from_bytes(nlp.to_bytes())


def test_pickle_holds_the_path_only(make_nlp):
    nlp = make_nlp()
    expected = links(nlp(TEXT))
    linker = nlp.get_pipe("term_linker")
    vocab = pickle.dumps(linker.vocab)
    data = pickle.dumps(linker)
    assert len(data) - len(vocab) < 5000
    copy = pickle.loads(data)
    assert links(copy(nlp.get_pipe("entity_ruler")(nlp.make_doc(TEXT)))) == expected


def test_a_fresh_process_needs_no_import_of_ours(make_nlp, kb_path, tmp_path):
    make_nlp().to_disk(tmp_path / "saved")
    code = f"""
import sys, spacy
nlp = spacy.load({str(tmp_path / "saved")!r})
heavy = [name for name in ("faiss", "spacy_termlink.encoders.encoder") if name in sys.modules]
assert not heavy, heavy
assert [ent.kb_id_ for ent in nlp("A hole in the heart.").ents] == ["X:6"]
blank = spacy.blank("de")
blank.add_pipe("term_linker", config={{"kb": {str(kb_path)!r}}})
assert blank("ohne").user_data["term_linker"]["term_linker"]["kb"] == "tiny"
print("linked")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "linked", run.stderr


def test_one_open_kb_for_all_components(make_nlp, kb_path):
    assert make_nlp().get_pipe("term_linker").kb is open_kb(kb_path)
