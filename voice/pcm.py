"""Sound as a value: mono, signed 16-bit little endian, at a known rate."""

# NumPy comes with the engines; what only carries text must work without them.
# ruff: noqa: PLC0415
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_BYTES = 2
SPEECH_RATE_HZ = 16_000
_FULL_SCALE = 32_768.0


@dataclass(frozen=True, slots=True)
class Pcm:
    """Mono 16-bit little-endian samples and their rate; raises ValueError for half a sample or no rate."""

    samples: bytes = field(repr=False)
    rate_hz: int

    def __post_init__(self) -> None:
        if len(self.samples) % SAMPLE_BYTES:
            raise ValueError("16-bit samples need an even number of bytes")
        if self.rate_hz <= 0:
            raise ValueError("a sample rate is positive")

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.samples) // SAMPLE_BYTES

    @property
    def seconds(self) -> float:
        """How long it sounds."""
        return len(self) / self.rate_hz

    def to_int16(self) -> NDArray[np.int16]:
        """The samples as a read-only view."""
        import numpy as np

        return np.frombuffer(self.samples, dtype="<i2")

    def to_float32(self) -> NDArray[np.float32]:
        """The samples in -1.0 … 1.0, as a copy that may be written to."""
        import numpy as np

        return self.to_int16().astype(np.float32) / np.float32(_FULL_SCALE)

    @classmethod
    def from_int16(cls, samples: NDArray[np.int16], rate_hz: int) -> Pcm:
        """From one channel of 16-bit samples, in any byte order."""
        if samples.ndim != 1:
            raise ValueError("one channel is needed")
        return cls(samples.astype("<i2", copy=False).tobytes(), rate_hz)

    @classmethod
    def from_float32(cls, samples: NDArray[np.float32], rate_hz: int) -> Pcm:
        """From one channel in -1.0 … 1.0; louder is clipped, what is not a number becomes silence."""
        import numpy as np

        finite = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0)
        scaled = np.clip(np.rint(finite * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1)
        return cls.from_int16(scaled.astype(np.int16), rate_hz)
