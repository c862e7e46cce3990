"""How loud a recording is, and the same recording as loud as speech should be."""

# NumPy comes with the engines; what only carries text must work without them.
# ruff: noqa: PLC0415
from __future__ import annotations

from typing import TYPE_CHECKING

from voice.pcm import Pcm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FRAME_S = 0.03
# Speech has at least this many loud frames (0.3 s); a click or a slammed door has fewer.
LOUD_FRAMES = 10
TARGET_RMS = 0.1
# A clip at 1 % of full level (peak 0.008) is quiet but clear and needs 30-fold. Far
# beyond that there are only the last bits of the converter.
HIGHEST_GAIN = 100.0


def levelled(pcm: Pcm) -> Pcm:
    """The recording without its offset, raised till its loudest 0.3 s are at speech level; never lowered."""
    import numpy as np

    if not len(pcm):
        return pcm
    samples = pcm.to_float32()
    samples -= samples.mean(dtype=np.float64)
    gain = TARGET_RMS / max(loudness(samples, pcm.rate_hz), TARGET_RMS / HIGHEST_GAIN)
    return Pcm.from_float32(samples * np.float32(max(gain, 1.0)), pcm.rate_hz)


def loudness(samples: NDArray[np.float32], rate_hz: int) -> float:
    """Root mean square of the frame that only nine others exceed, 0.0 … 1.0."""
    import numpy as np

    energies = frame_energies(samples, rate_hz)
    rank = min(LOUD_FRAMES, len(energies))
    return float(np.sqrt(np.partition(energies, len(energies) - rank)[len(energies) - rank]))


def frame_energies(samples: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    """Mean square of each frame of 30 ms, the last one padded with silence."""
    import numpy as np

    size = max(1, int(FRAME_S * rate_hz))
    padded = np.pad(samples, (0, -len(samples) % size)).reshape(-1, size)
    energies: NDArray[np.float32] = np.square(padded).mean(axis=1)
    return energies
