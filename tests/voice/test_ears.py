import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from voice.containers import Decoded, Decoder
from voice.ears import Ears
from voice.errors import Busy, Unreadable, VoiceError
from voice.pcm import Pcm
from voice.recognizer import Cancel, Cancelled, Hints, Recognition, Segment
from voice.speech_gate import Span, SpeechGate
from voice.whisper import Whisper

SECOND = Pcm(bytes(32_000), 16_000)
ORDER = "Open the log file and tell me what went wrong."


class FakeDecoder:
    """Takes anything but b"bad" for a second of sound."""

    def __init__(self) -> None:
        self.is_warm = self.is_closed = False

    async def warm(self) -> None:
        self.is_warm = True

    async def decode(self, data: bytes) -> Decoded:
        if data == b"bad":
            raise Unreadable("no")
        return Decoded(SECOND, "wav", data == b"damaged")

    async def close(self) -> None:
        self.is_closed = True


@dataclass
class FakeGate:
    """Says where the speech is as it was told."""

    spans: tuple[Span, ...] = ((0.2, 0.8),)
    is_loaded: bool = False

    def load(self) -> None:
        self.is_loaded = True

    def speech_spans(self, pcm: Pcm) -> tuple[Span, ...]:
        return self.spans

    def excerpt(self, pcm: Pcm, spans: tuple[Span, ...]) -> Pcm:
        return pcm


@dataclass
class FakeRecognizer:
    """Returns a segment, once it is let go; notes who was cancelled."""

    segment: Segment = field(default_factory=lambda: Segment("open the log"))
    go: threading.Event = field(default_factory=threading.Event)
    started: threading.Event = field(default_factory=threading.Event)
    calls: list[tuple[Pcm, Hints]] = field(default_factory=list)
    cancelled: int = 0
    is_loaded: bool = False
    threads: set[str] = field(default_factory=set)

    def load(self) -> None:
        self.is_loaded = True

    def recognize(self, pcm: Pcm, hints: Hints, cancel: Cancel) -> Recognition:
        self.calls.append((pcm, hints))
        self.threads.add(threading.current_thread().name)
        self.started.set()
        while not self.go.wait(0.005):
            if cancel.is_cancelled:
                self.cancelled += 1
                raise Cancelled
        return Recognition((self.segment,), "en", pcm.seconds)


def _ears(**changes: Any) -> tuple[Ears, FakeRecognizer]:
    recognizer = changes.pop("recognizer", FakeRecognizer())
    gate = changes.pop("gate", FakeGate())
    return Ears(FakeDecoder(), recognizer, gate, **changes), recognizer


async def _until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_true():
            await asyncio.sleep(0.002)


async def test_words_container_and_times_are_reported() -> None:
    ears, recognizer = _ears()
    recognizer.go.set()
    heard = await ears.hear(b"damaged", Hints(("log",)))
    assert (heard.text, heard.verdict, heard.container, heard.is_damaged) == (
        "open the log",
        "heard",
        "wav",
        True,
    )
    assert heard.audio_s == 1.0
    assert set(heard.timings) == {"decode", "wait", "gate", "recognize"}
    assert recognizer.calls[0][1] == Hints(("log",))
    assert all(name.startswith("voice-ears") for name in recognizer.threads)
    assert "open the log" not in repr(heard)
    await ears.close()


async def test_silence_never_reaches_the_recogniser() -> None:
    ears, recognizer = _ears(gate=FakeGate(()))
    heard = await ears.hear(b"x")
    assert (heard.text, heard.verdict) == ("", "nothing")
    assert recognizer.calls == []
    await ears.close()


async def test_samples_are_heard_like_a_recording() -> None:
    ears, recognizer = _ears()
    recognizer.go.set()
    heard = await ears.hear_pcm(SECOND)
    assert (heard.text, heard.container, heard.is_damaged) == ("open the log", "pcm", False)
    await ears.close()


async def test_own_voice_is_not_heard() -> None:
    ears, recognizer = _ears(recognizer=FakeRecognizer(Segment("still working reading a file")))
    recognizer.go.set()
    assert (await ears.hear(b"x", last_spoken="Still working. Reading a file.")).verdict == "nothing"
    assert (await ears.hear(b"x")).verdict == "heard"
    await ears.close()


async def test_length_of_speech_is_the_gates_not_the_recordings() -> None:
    doubtful = Segment("Thank you.", no_speech_prob=0.2, avg_logprob=-0.7)
    ears, recognizer = _ears(recognizer=FakeRecognizer(doubtful), gate=FakeGate(((0.1, 0.4),)))
    recognizer.go.set()
    assert (await ears.hear(b"x")).verdict == "nothing"
    await ears.close()


async def test_quiet_sound_is_raised_before_it_is_recognised() -> None:
    ears, recognizer = _ears()
    recognizer.go.set()
    quiet = Pcm.from_float32(np.sin(np.arange(16_000) / 10).astype(np.float32) * np.float32(0.004), 16_000)
    await ears.hear_pcm(quiet)
    assert recognizer.calls[0][0].to_float32().std() > 10 * quiet.to_float32().std()
    await ears.close()


async def test_full_queue_is_busy_at_once_and_free_again_later() -> None:
    ears, recognizer = _ears(workers=1, queue_limit=1)
    waiting = [asyncio.create_task(ears.hear(b"x")) for _ in range(2)]
    await _until(recognizer.started.is_set)
    with pytest.raises(Busy):
        await ears.hear(b"x")
    with pytest.raises(Busy):
        await ears.hear_pcm(SECOND)
    recognizer.go.set()
    assert [heard.text for heard in await asyncio.gather(*waiting)] == ["open the log"] * 2
    assert ears.waiting == 0
    assert (await ears.hear(b"x")).text == "open the log"
    await ears.close()


async def test_who_stops_waiting_stops_the_work() -> None:
    ears, recognizer = _ears(workers=1)
    task = asyncio.create_task(ears.hear(b"x"))
    await _until(recognizer.started.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _until(lambda: recognizer.cancelled == 1)
    await ears.close()


async def test_work_that_nobody_waits_for_still_takes_its_place() -> None:
    class Deaf(FakeRecognizer):
        def recognize(self, pcm: Pcm, hints: Hints, cancel: Cancel) -> Recognition:
            return super().recognize(pcm, hints, Cancel())

    ears, recognizer = _ears(workers=1, queue_limit=0, recognizer=Deaf())
    task = asyncio.create_task(ears.hear(b"x"))
    await _until(recognizer.started.is_set)
    task.cancel()
    await asyncio.wait([task])
    with pytest.raises(Busy):
        await ears.hear(b"x")
    recognizer.go.set()
    await _until(lambda: ears.waiting == 0)
    await ears.close()


async def test_token_stops_the_work_too() -> None:
    ears, recognizer = _ears()
    cancel = Cancel()
    task = asyncio.create_task(ears.hear(b"x", cancel=cancel))
    await _until(recognizer.started.is_set)
    cancel.cancel()
    with pytest.raises(Cancelled):
        await task
    await ears.close()


async def test_error_of_decoding_is_passed_on_and_frees_the_place() -> None:
    ears, recognizer = _ears(workers=1, queue_limit=0)
    for _ in range(3):
        with pytest.raises(Unreadable):
            await ears.hear(b"bad")
    recognizer.go.set()
    assert (await ears.hear(b"x")).text == "open the log"
    await ears.close()


async def test_loading_readies_everything_and_closing_ends_what_runs() -> None:
    ears, recognizer = _ears()
    await ears.load()
    assert recognizer.is_loaded
    task = asyncio.create_task(ears.hear(b"x"))
    await _until(recognizer.started.is_set)
    await ears.close()
    with pytest.raises(Cancelled):
        await task
    assert not any(thread.name.startswith("voice-ears") for thread in threading.enumerate())


@pytest.fixture
async def real_ears() -> AsyncIterator[Ears]:
    pytest.importorskip("faster_whisper")
    ears = Ears(Decoder(), Whisper(), SpeechGate())
    await ears.load()
    yield ears
    await ears.close()


def _words(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalpha() or letter == " ").strip()


@pytest.mark.models
async def test_same_words_from_every_container(
    real_ears: Ears, recordings: Any, speak: Callable[[str], Pcm]
) -> None:
    spoken = speak(ORDER).to_float32()
    for name, form in recordings.formats.items():
        times = np.arange(int(len(spoken) * form.rate_hz / 16_000)) * 16_000 / form.rate_hz
        one = np.rint(np.interp(times, np.arange(len(spoken)), spoken) * 32_000).astype(np.int16)
        heard = await real_ears.hear(recordings.encode(form, np.stack([one] * form.channels)))
        assert (_words(heard.text), heard.verdict) == (_words(ORDER), "heard"), name


@pytest.mark.models
async def test_quiet_late_and_short_speech_is_heard(
    real_ears: Ears, recordings: Any, speak: Callable[[str], Pcm]
) -> None:
    quiet = Pcm.from_float32(speak(ORDER).to_float32() * np.float32(0.01), 16_000)
    assert _words((await real_ears.hear(recordings.wav(quiet.samples))).text) == _words(ORDER)
    late = bytes(2 * 16_000 * 35) + speak(ORDER).samples
    assert _words((await real_ears.hear(recordings.wav(late))).text) == _words(ORDER)
    assert _words((await real_ears.hear(recordings.wav(speak("Yes.").samples))).text) == "yes"


@pytest.mark.models
async def test_nothing_is_heard_where_nobody_speaks(real_ears: Ears, recordings: Any) -> None:
    hints = Hints(("kubectl", "pytest", "Redis"))
    for data in (
        recordings.wav(bytes(96_000)),
        recordings.tone_in("m4a"),
        recordings.wav(recordings.noise(3.0, 0.05).samples),
    ):
        heard = await real_ears.hear(data, hints)
        assert (heard.text, heard.verdict) == ("", "nothing")


@pytest.mark.models
async def test_what_is_no_recording_is_an_error_of_ours(real_ears: Ears, recordings: Any) -> None:
    for data in (
        b"",
        b"<html></html>",
        b"run the tests",
        recordings.tone_in("m4a")[:300],
        recordings.wav(b""),
    ):
        with pytest.raises(VoiceError):
            await real_ears.hear(data)


@pytest.mark.models
async def test_people_are_understood(real_ears: Ears, corpus: Any) -> None:
    jiwer = pytest.importorskip("jiwer")
    normalize = pytest.importorskip("whisper_normalizer.english").EnglishTextNormalizer()
    references, heard = [], []
    for _, transcript, data in corpus.clips("speech", "speech_noisy"):
        references.append(normalize(transcript))
        heard.append(normalize((await real_ears.hear(data)).text))
    assert jiwer.wer(references, heard) < 0.12


@pytest.mark.models
async def test_recorded_noise_is_never_an_order(real_ears: Ears, corpus: Any) -> None:
    for name, _, data in corpus.clips("noise", "music"):
        assert (await real_ears.hear(data, Hints(("pytest", "Redis")))).verdict == "nothing", name
