"""From a recording to words, through the speech library; its errors become ours."""

from dataclasses import dataclass
from typing import Protocol

from gateway.errors import GatewayError, NothingUsable, TooLargeRequest, TooMany, Unavailable
from gateway.settings.settings import Settings
from voice.ears import Heard as HeardByEars
from voice.errors import (
    Busy,
    DecoderFailed,
    RecognitionFailed,
    TooLarge,
    TooLong,
    Truncated,
    Unreadable,
    VoiceError,
)
from voice.recognizer import Hints


class HearsRecordings(Protocol):
    """What the dialog needs of the speech library: `voice.ears.Ears`, or a fake."""

    async def hear(self, data: bytes, hints: Hints) -> HeardByEars:
        """What was said in a recording of any known container."""


@dataclass(frozen=True, slots=True)
class Words:
    """What was understood, and what was left out as an artefact of recognition."""

    text: str
    dropped: tuple[str, ...]


class Hearing:
    """Understands recordings. Without ears (no speech engine installed) it says so."""

    def __init__(self, ears: HearsRecordings | None, settings: Settings) -> None:
        self._ears = ears
        self._settings = settings

    async def words(self, recording: bytes) -> Words:
        """The words of a recording. Raises NothingUsable where there are none that can be trusted."""
        if self._ears is None:
            raise Unavailable("no_speech")
        try:
            heard = await self._ears.hear(recording, Hints(vocabulary=()))
        except VoiceError as error:
            raise translated(error, self._settings) from error
        if heard.verdict == "uncertain":
            raise NothingUsable("heard_uncertain", {"words": heard.text[:120]})
        if heard.verdict != "heard" or not heard.text.strip():
            raise NothingUsable("nothing_heard")
        return Words(heard.text, heard.dropped)


def translated(error: VoiceError, settings: Settings) -> GatewayError:
    """The speech library's error as one of ours, with its sentence."""
    match error:
        case Truncated():
            return NothingUsable("truncated")
        case Unreadable() | DecoderFailed() | RecognitionFailed():
            return NothingUsable("unreadable")
        case TooLong():
            return TooLargeRequest("too_long", {"limit_s": f"{settings.stt.audio_seconds:.0f}"})
        case TooLarge():
            limit_mb = settings.server.body_limit_bytes // (1024 * 1024)
            return TooLargeRequest("too_large", {"limit_mb": str(limit_mb)})
        case Busy():
            return TooMany("busy")
    return Unavailable("no_speech")
