"""From text to the first audio byte, against the engine's own time to its first sentence."""

import time
from contextlib import aclosing

from tests.bench.report import Figure, percentile
from voice.mouth import Mouth
from voice.piper import Piper

ROUNDS = 12
BAR_RATIO = 1.3
ANSWER = (
    "All twelve tests pass on this branch now.",
    "The slow one was waiting for a socket that nobody closed.",
    "I closed it and added a case for that.",
    "The change is in one file.",
    "Nothing was pushed, so have a look when you are back.",
)


async def measure() -> list[Figure]:
    """Interleaved, with one loaded engine."""
    piper = Piper()
    piper.load()
    piper.synthesize(ANSWER[0])
    mouth = Mouth(piper)
    first, whole, engine = [], [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        piper.synthesize(ANSWER[0])
        engine.append(time.perf_counter() - began)
        began = time.perf_counter()
        async with aclosing(mouth.speak(ANSWER, "audio/mpeg")) as chunks:
            await anext(chunks)
            first.append(time.perf_counter() - began)
            async for _chunk in chunks:
                pass
            whole.append(time.perf_counter() - began)
    await mouth.close()
    first_ms = percentile(first, 0.5) * 1000
    ratio = percentile(first, 0.5) / percentile(engine, 0.5)
    gain = percentile(whole, 0.5) / percentile(first, 0.5)
    return [
        Figure(
            name="text → first audio byte against the engine's first sentence",
            measured=f"{ratio:.2f}× (p50 {first_ms:.0f} ms; the whole answer takes {gain:.1f}×)",
            bar=f"at most {BAR_RATIO}×",
            is_met=ratio <= BAR_RATIO,
            values={"ratio": ratio, "first_ms": percentile(first, 0.5) * 1000, "whole_to_first": gain},
        )
    ]
