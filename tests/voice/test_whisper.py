import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voice.errors import ModelMissing
from voice.pcm import Pcm
from voice.recognizer import Cancel, Cancelled, Hints
from voice.whisper import PADDING_SIGMA, Whisper, WhisperSettings, has_repeat, padded
from voice.windows import windows

NO_HINTS = Hints()
ORDER = "Run the tests and tell me what failed."


def _words(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalpha() or letter == " ").strip()


@pytest.fixture(scope="module")
def whisper() -> Iterator[Whisper]:
    pytest.importorskip("faster_whisper")
    engine = Whisper()
    engine.load()
    yield engine


@pytest.mark.models
def test_spoken_order_comes_back_word_for_word(whisper: Whisper, speak: Callable[[str], Pcm]) -> None:
    recognition = whisper.recognize(speak(ORDER), NO_HINTS, Cancel())
    assert _words(recognition.segments[0].text) == _words(ORDER)
    assert recognition.language == "en"
    segment = recognition.segments[0]
    assert segment.avg_logprob > -0.5
    assert segment.no_speech_prob < 0.3
    assert (segment.start_s, segment.end_s) == (0.0, speak(ORDER).seconds)


@pytest.mark.models
@pytest.mark.parametrize("word", ["Yes.", "No.", "Stop.", "Continue."])
def test_one_word_is_enough(word: str, whisper: Whisper, speak: Callable[[str], Pcm]) -> None:
    recognition = whisper.recognize(speak(word), NO_HINTS, Cancel())
    assert _words(recognition.segments[0].text) == _words(word)


@pytest.mark.models
def test_words_of_the_vocabulary_are_spelled_as_in_it(whisper: Whisper, speak: Callable[[str], Pcm]) -> None:
    spoken = speak("Restart Tachyo on staging.")
    plain = whisper.recognize(spoken, NO_HINTS, Cancel())
    hinted = whisper.recognize(spoken, Hints(("pytest", "Tachyo", "kubectl")), Cancel())
    assert "Tachyo" not in plain.segments[0].text
    assert "Tachyo" in hinted.segments[0].text


@pytest.mark.models
def test_speech_longer_than_a_window_is_taken_whole(whisper: Whisper, speak: Callable[[str], Pcm]) -> None:
    numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    sentences = [f"Please open window number {number}, and then close it again." for number in numbers]
    pause = bytes(16_000)
    long = Pcm(pause.join(speak(sentence).samples for sentence in sentences), 16_000)
    assert long.seconds > 30
    recognition = whisper.recognize(long, NO_HINTS, Cancel())
    text = " ".join(segment.text for segment in recognition.segments).lower()
    for at, number in enumerate(numbers, 1):
        assert number in text or str(at) in text
    starts = [segment.start_s for segment in recognition.segments]
    assert starts == sorted(starts)
    assert len(starts) == 2


@pytest.mark.models
def test_several_threads_get_their_own_words(whisper: Whisper, speak: Callable[[str], Pcm]) -> None:
    orders = [
        "Open the log file.",
        "Merge the branch.",
        "Stop the server.",
        "Show me the answer, and explain it.",
    ]
    heard: dict[str, str] = {}

    def work(order: str) -> None:
        heard[order] = whisper.recognize(speak(order), NO_HINTS, Cancel()).segments[0].text

    for order in orders:
        speak(order)
    threads = [threading.Thread(target=work, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {order: _words(text) for order, text in heard.items()} == {
        order: _words(order) for order in orders
    }


@pytest.mark.models
def test_nothing_is_asked_of_the_network(
    whisper: Whisper, speak: Callable[[str], Pcm], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    fresh = Whisper()
    assert fresh.recognize(speak("Stop."), NO_HINTS, Cancel()).segments


@pytest.mark.models
def test_cancelled_work_stops_at_its_next_check(whisper: Whisper, speak: Callable[[str], Pcm]) -> None:
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled):
        whisper.recognize(speak("Stop."), NO_HINTS, cancel)


@pytest.mark.models
@pytest.mark.parametrize("samples", [0, 1, 300, 399])
def test_next_to_no_sound_is_no_words(samples: int, whisper: Whisper) -> None:
    assert whisper.recognize(Pcm(bytes(2 * samples), 16_000), NO_HINTS, Cancel()).segments == ()


def test_another_rate_is_a_mistake() -> None:
    with pytest.raises(ValueError):
        Whisper().recognize(Pcm(bytes(2), 8_000), NO_HINTS, Cancel())


def test_model_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        Whisper(WhisperSettings(model=str(tmp_path / "none"))).load()


@pytest.mark.models
def test_directory_with_something_else_in_it_is_said(tmp_path: Path) -> None:
    for name in ("config.json", "model.bin", "tokenizer.json", "vocabulary.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ModelMissing) as caught:
        Whisper(WhisperSettings(model=str(tmp_path))).load()
    assert "/" not in str(caught.value)


def test_padding_is_faint_and_the_same_each_time() -> None:
    speech = np.ones(1_600, dtype=np.float32)
    sound = padded(speech, 1_000)
    assert len(sound) == 160_000
    assert np.array_equal(sound[:1_600], speech)
    assert sound[1_600:].std() == pytest.approx(PADDING_SIGMA, rel=0.02)
    assert np.array_equal(sound, padded(speech, 1_000))


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("", False),
        ("run the tests", False),
        ("run the tests and push the branch", False),
        ("Run the tests run the tests", True),
        ("no no no no", True),
        ("Yes. Yes.", True),
        ("Yes.", False),
        ("open the log, open the door", False),
    ],
)
def test_words_going_in_circles_are_noticed(text: str, repeats: bool) -> None:
    assert has_repeat(text) is repeats


def test_long_sound_is_cut_in_its_pauses_and_nothing_is_lost() -> None:
    sound = np.random.default_rng(1).standard_normal(70 * 16_000).astype(np.float32) * np.float32(0.1)
    for pause_s in (20, 41):
        sound[pause_s * 16_000 : pause_s * 16_000 + 9_600] = 0
    pcm = Pcm.from_float32(sound, 16_000)
    pieces = windows(pcm, 28.0)
    assert b"".join(piece.samples for _, piece in pieces) == pcm.samples
    assert all(piece.seconds <= 28.0 for _, piece in pieces)
    assert [start_s for start_s, _ in pieces[1:3]] == [
        pytest.approx(20.3, abs=0.3),
        pytest.approx(41.3, abs=0.3),
    ]
    assert [start_s for start_s, _ in pieces] == pytest.approx(
        np.cumsum([0.0, *(piece.seconds for _, piece in pieces[:-1])]).tolist()
    )


def test_short_sound_is_one_piece() -> None:
    assert windows(Pcm(b"", 16_000), 28.0) == ((0.0, Pcm(b"", 16_000)),)
    assert len(windows(Pcm(bytes(28 * 32_000), 16_000), 28.0)) == 1
