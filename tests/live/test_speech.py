"""A real recording through real recognition to the real CLI, and its answer back as sound."""

import asyncio
import io
import subprocess
from pathlib import Path

import pytest

from tests.live.model_standin import ModelStandin
from tests.live.service import Client, program
from tests.live.terminal import Session

pytestmark = [pytest.mark.live, pytest.mark.models, pytest.mark.asyncio(loop_scope="session")]

SPOKEN = "Please check the weather report and tell me the result."
ANSWER = "The weather is clear on the whole road."
LOUD = 500  # of 32767: far above the noise of a codec, far below speech


@pytest.mark.parametrize("accept", ["audio/wav", "audio/mpeg"])
async def test_spoken_words_reach_the_model_as_heard_and_the_answer_is_sound(
    accept: str, model: ModelStandin, client: Client, amber: Session, tmp_path: Path
) -> None:
    recording = await asyncio.to_thread(_speak, SPOKEN, tmp_path)
    model.otherwise = ANSWER
    already = len(model.delivered)

    sound = await client.speak("amber", recording, accept, wait=40)

    assert (sound.status, sound.state) == (200, "finished")
    assert sound.content_type == accept
    assert [delivery.words for delivery in model.delivered[already:]] == [sound.heard]
    assert "weather report" in sound.heard.lower()
    loudest, seconds = await asyncio.to_thread(_measure, sound.data)
    assert loudest > LOUD
    assert seconds > 1.0


def _speak(words: str, folder: Path) -> bytes:
    """A WAV recording of `words`, by the embedded voice through the command line."""
    target = folder / "spoken.wav"
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    command = [str(program()), "say", words, "-o", str(target)]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    return target.read_bytes()


def _measure(encoded: bytes) -> tuple[int, float]:
    """The loudest sample (of 32767) and the length in seconds of decoded audio."""
    import av  # noqa: PLC0415 - only where the embedded engines are installed
    import numpy as np  # noqa: PLC0415

    loudest, seconds = 0, 0.0
    with av.open(io.BytesIO(encoded), "r") as container:
        mono = av.AudioResampler(format="s16", layout="mono", rate=16_000)
        for frame in container.decode(audio=0):
            for piece in mono.resample(frame):
                samples = np.abs(piece.to_ndarray().astype(np.int32))
                loudest = max(loudest, int(samples.max(initial=0)))
                seconds += piece.samples / piece.sample_rate
    return loudest, seconds
