"""Piper behind the synthesizer's protocol."""

import io
import logging
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from voice.encoders import WAV
from voice.errors import ModelMissing, SynthesisFailed
from voice.models import find_stt
from voice.mouth import Mouth
from voice.piper import Piper

SILENCE_S = 0.12


def test_engine_is_not_imported_with_the_module() -> None:
    code = "import sys, voice.piper, voice.mouth; print('piper' in sys.modules, 'av' in sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.split() == ["False", "False"]


def test_voice_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelMissing):
        Piper("no-such-voice").load()


def test_damaged_voice_is_reported_without_the_engine_s_words(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    (tmp_path / "bad.onnx.json").write_text("{}")
    pytest.importorskip("piper")
    with pytest.raises(ModelMissing, match="bad"):
        Piper(str(tmp_path / "bad.onnx")).load()


def test_rate_is_unknown_before_loading() -> None:
    with pytest.raises(SynthesisFailed):
        _ = Piper().rate_hz


def test_speed_out_of_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="length_scale"):
        Piper(length_scale=0)


@pytest.fixture(scope="module")
def piper() -> Piper:
    pytest.importorskip("piper")
    voice = Piper()
    voice.load()
    return voice


@pytest.mark.models
def test_words_become_sound(piper: Piper) -> None:
    spoken = piper.synthesize("All tests pass.")
    assert spoken.rate_hz == piper.rate_hz == 22_050
    assert 0.6 < spoken.seconds < 3
    assert max(abs(sample) for sample in spoken.to_int16()[::50].tolist()) > 1_000


@pytest.mark.models
@pytest.mark.parametrize("text", ["", " ", "...", "\x00", "💥", "—", "[[]]", "\ud83d", "\u200b"])
def test_nothing_sayable_is_a_short_silence(piper: Piper, text: str) -> None:
    spoken = piper.synthesize(text)
    assert spoken.seconds == pytest.approx(SILENCE_S, abs=0.01)
    assert not any(spoken.samples)


@pytest.mark.models
@pytest.mark.parametrize(
    "text", ["Done\x00 with \x07it", "row[[0]] and [[ -n x ]]", "half \ud83d pair", "a" * 5_000]
)
def test_hostile_text_is_spoken_and_not_an_error(piper: Piper, text: str) -> None:
    assert piper.synthesize(text).seconds > SILENCE_S


@pytest.mark.models
def test_slower_is_longer(piper: Piper) -> None:
    text = "The worker restarts after every request."
    assert Piper(length_scale=1.6).synthesize(text).seconds > 1.2 * piper.synthesize(text).seconds


@pytest.mark.models
def test_words_never_reach_a_log(piper: Piper, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        Piper().synthesize("Xylophone secret.")
        piper.synthesize("Xylophone secret.")
    assert "ylophone" not in caplog.text


@pytest.mark.models
async def test_speech_can_be_understood(piper: Piper) -> None:
    whisper = pytest.importorskip("faster_whisper")
    mouth = Mouth(piper)
    sentences = [
        "The login bug was in the session.",
        "All forty tests pass now.",
        "Do you want me to deploy it?",
    ]
    data = b"".join([chunk async for chunk in mouth.speak(sentences, WAV)])
    await mouth.close()
    model = whisper.WhisperModel(str(find_stt("tiny.en").directory), device="cpu", compute_type="int8")
    segments, _ = model.transcribe(io.BytesIO(data), language="en", temperature=0.0, beam_size=5)
    heard = " ".join(segment.text for segment in segments).lower()
    assert all(word in heard for word in ("login", "session", "tests pass", "deploy"))
    with wave.open(io.BytesIO(data)) as file:
        assert file.getframerate() == piper.rate_hz
