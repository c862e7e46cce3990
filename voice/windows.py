"""Cuts speech into the pieces a recogniser takes at once, at the quietest place."""

# NumPy comes with the engines; what only carries text must work without them.
# ruff: noqa: PLC0415
from __future__ import annotations

from voice.level import FRAME_S, frame_energies
from voice.pcm import SAMPLE_BYTES, Pcm

# A cut must not fall so early that the pieces become many, nor inside a word if a pause is near.
EARLIEST_SHARE = 0.5
PAUSE_FRAMES = 9


def windows(pcm: Pcm, longest_s: float) -> tuple[tuple[float, Pcm], ...]:
    """The sound in pieces of at most ``longest_s``, each with where it starts; nothing is left out."""
    pieces: list[tuple[float, Pcm]] = []
    start_s = 0.0
    rest = pcm
    while rest.seconds > longest_s:
        head, rest = _split(rest, _quietest_s(rest, longest_s))
        pieces.append((start_s, head))
        start_s += head.seconds
    if len(rest) or not pieces:
        pieces.append((start_s, rest))
    return tuple(pieces)


def _quietest_s(pcm: Pcm, longest_s: float) -> float:
    """The middle of the quietest quarter of a second in the second half of the first ``longest_s``."""
    import numpy as np

    energies = frame_energies(pcm.to_float32(), pcm.rate_hz)
    first, last = int(longest_s * EARLIEST_SHARE / FRAME_S), int(longest_s / FRAME_S) - PAUSE_FRAMES
    smooth = np.convolve(energies[first : last + PAUSE_FRAMES], np.ones(PAUSE_FRAMES), mode="valid")
    return float((first + int(np.argmin(smooth)) + PAUSE_FRAMES / 2) * FRAME_S)


def _split(pcm: Pcm, at_s: float) -> tuple[Pcm, Pcm]:
    at = int(at_s * pcm.rate_hz) * SAMPLE_BYTES
    return Pcm(pcm.samples[:at], pcm.rate_hz), Pcm(pcm.samples[at:], pcm.rate_hz)
