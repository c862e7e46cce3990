"""The seam behind which speech engines stand."""

from typing import Protocol

from voice.pcm import Pcm


class Synthesizer(Protocol):
    """Text in, sound out; blocking, to be called in a worker thread.

    `load` may be called more than once and is done by the first call; `synthesize` loads where that was
    not done.
    """

    @property
    def rate_hz(self) -> int:
        """The rate of every Pcm this engine returns; known once it is loaded."""
        ...

    def load(self) -> None:
        """Makes the engine ready. Raises ModelMissing or ModelMismatch."""
        ...

    def synthesize(self, text: str) -> Pcm:
        """One clause as sound; text without anything to say is a short silence. Raises SynthesisFailed."""
        ...
