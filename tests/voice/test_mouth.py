"""Sentences in, encoded speech out."""

import asyncio
import io
import threading
from collections.abc import AsyncIterator

import av
import pytest

from voice.encoders import MP3, MP4, OGG, WAV
from voice.errors import Busy, ModelMissing, SynthesisFailed
from voice.mouth import Mouth
from voice.pcm import Pcm

RATE_HZ = 16_000
HEADER_BYTES = 44


class FakeSynthesizer:
    """A tenth of a second a word; notes what it was asked for, and waits where it is told to."""

    rate_hz = RATE_HZ

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.threads: set[str] = set()
        self.loads = 0
        self.gate = threading.Event()
        self.gate.set()
        self.fails_on = "-"

    def load(self) -> None:
        self.loads += 1

    def synthesize(self, text: str) -> Pcm:
        self.texts.append(text)
        self.threads.add(threading.current_thread().name)
        assert self.gate.wait(10)
        if self.fails_on in text:
            raise SynthesisFailed("no")
        return Pcm(b"\x01\x00" * (len(text.split()) * RATE_HZ // 10), RATE_HZ)


@pytest.fixture
def synthesizer() -> FakeSynthesizer:
    return FakeSynthesizer()


@pytest.fixture
async def mouth(synthesizer: FakeSynthesizer) -> AsyncIterator[Mouth]:
    mouth = Mouth(synthesizer, workers=1, queue_limit=1)
    yield mouth
    synthesizer.gate.set()
    await mouth.close()


def seconds(data: bytes) -> float:
    with av.open(io.BytesIO(data)) as container:
        return sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0))


async def until(condition: object) -> None:
    """Lets the loop and the workers run until a claim holds."""
    assert callable(condition)
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("media_type", [WAV, MP3, MP4, OGG])
async def test_sentences_become_one_file(mouth: Mouth, media_type: str) -> None:
    data = b"".join([chunk async for chunk in mouth.speak(["One two three.", "Four five."], media_type)])
    assert seconds(data) == pytest.approx(0.5 + 2 * 0.22, abs=0.2)


async def test_words_are_said_in_order_off_the_loop(mouth: Mouth, synthesizer: FakeSynthesizer) -> None:
    async for _ in mouth.speak(["One. Two.", "three, four"], WAV):
        pass
    assert synthesizer.texts == ["One.", "Two.", "three, four"]
    assert all(name.startswith("voice-mouth") for name in synthesizer.threads)


async def test_long_first_sentence_begins_with_a_short_piece(
    mouth: Mouth, synthesizer: FakeSynthesizer
) -> None:
    sentence = " ".join(f"word{number}" for number in range(60))
    async for _ in mouth.speak([sentence], WAV):
        pass
    assert len(synthesizer.texts[0].split()) <= 8
    assert " ".join(synthesizer.texts).replace(",", "") == sentence


async def test_first_bytes_come_before_the_second_clause_is_made(
    mouth: Mouth, synthesizer: FakeSynthesizer
) -> None:
    speech = mouth.speak(["One two.", "Three four."], WAV)
    first = await anext(speech)
    synthesizer.gate.clear()
    assert len(first) > HEADER_BYTES
    await speech.aclose()


async def test_next_clause_is_made_while_one_is_written_but_no_more(
    mouth: Mouth, synthesizer: FakeSynthesizer
) -> None:
    speech = mouth.speak(["One.", "Two.", "Three.", "Four."], WAV)
    await anext(speech)
    await until(lambda: len(synthesizer.texts) == 2)
    await asyncio.sleep(0.05)
    assert synthesizer.texts == ["One.", "Two."]
    await speech.aclose()


async def test_nobody_listening_stops_the_work(mouth: Mouth, synthesizer: FakeSynthesizer) -> None:
    speech = mouth.speak([f"Sentence {number}." for number in range(50)], MP3)
    await anext(speech)
    await speech.aclose()
    made = len(synthesizer.texts)
    await asyncio.sleep(0.05)
    assert len(synthesizer.texts) == made <= 2
    assert mouth.speaking == 0


async def test_cancelled_consumer_stops_the_work(mouth: Mouth, synthesizer: FakeSynthesizer) -> None:
    synthesizer.gate.clear()

    async def consume() -> None:
        async for _ in mouth.speak(["One.", "Two.", "Three."], WAV):
            pass

    task = asyncio.create_task(consume())
    await until(lambda: synthesizer.texts)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    synthesizer.gate.set()
    assert b"".join([chunk async for chunk in mouth.speak(["Next."], WAV)])
    assert synthesizer.texts == ["One.", "Next."]


async def test_loop_goes_on_while_a_clause_is_made(mouth: Mouth, synthesizer: FakeSynthesizer) -> None:
    synthesizer.gate.clear()
    first = asyncio.create_task(anext(mouth.speak(["One."], WAV)))
    await until(lambda: synthesizer.texts)
    assert not first.done()
    synthesizer.gate.set()
    assert await first


async def test_sentences_that_are_still_being_written_are_said_as_they_come(
    mouth: Mouth, synthesizer: FakeSynthesizer
) -> None:
    more = asyncio.Event()

    async def written() -> AsyncIterator[str]:
        yield "One."
        await more.wait()
        yield "Two."

    speech = mouth.speak(written(), WAV)
    assert len(await anext(speech)) > HEADER_BYTES
    assert synthesizer.texts == ["One."]
    more.set()
    assert b"".join([chunk async for chunk in speech])
    assert synthesizer.texts == ["One.", "Two."]


@pytest.mark.parametrize("media_type", [WAV, MP3, MP4, OGG])
async def test_nothing_to_say_is_a_valid_file(mouth: Mouth, media_type: str) -> None:
    data = b"".join([chunk async for chunk in mouth.speak(["", "  "], media_type)])
    assert 0 < seconds(data) < 0.5


async def test_failure_reaches_the_consumer_and_frees_the_place(
    mouth: Mouth, synthesizer: FakeSynthesizer
) -> None:
    synthesizer.fails_on = "Two"
    with pytest.raises(SynthesisFailed):
        async for _ in mouth.speak(["One.", "Two."], WAV):
            pass
    assert mouth.speaking == 0


async def test_too_many_speeches_are_refused(mouth: Mouth, synthesizer: FakeSynthesizer) -> None:
    synthesizer.gate.clear()
    waiting = [asyncio.create_task(anext(mouth.speak(["One."], WAV))) for _ in range(2)]
    await until(lambda: mouth.speaking == 2)
    with pytest.raises(Busy):
        await anext(mouth.speak(["Two."], WAV))
    synthesizer.gate.set()
    await asyncio.gather(*waiting)


async def test_unknown_media_type_is_refused(mouth: Mouth) -> None:
    with pytest.raises(ValueError, match="flac"):
        await anext(mouth.speak(["One."], "audio/flac"))


async def test_engine_that_cannot_load_says_so() -> None:
    class Missing(FakeSynthesizer):
        def load(self) -> None:
            raise ModelMissing("not here")

    mouth = Mouth(Missing())
    with pytest.raises(ModelMissing):
        await mouth.load()
    await mouth.close()
