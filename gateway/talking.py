"""From a sentence to speech, through the speech library; its errors become ours."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from gateway.errors import TooMany, Unavailable
from voice.encoders import negotiate
from voice.errors import Busy, VoiceError
from voice.sentences import split

DEFAULT_MEDIA_TYPE = "audio/mpeg"


class Speaks(Protocol):
    """What is needed of the speech library: `voice.mouth.Mouth`, or a fake."""

    def speak(self, sentences: Sequence[str], media_type: str) -> AsyncGenerator[bytes, None]:
        """Speech in a container, as it is made."""


class Talking:
    """Speaks replies. Without a mouth (no speech engine installed) it cannot."""

    def __init__(self, mouth: Speaks | None) -> None:
        self._mouth = mouth

    @property
    def can_speak(self) -> bool:
        """There is an engine."""
        return self._mouth is not None

    def media_type(self, accept: str | None) -> str:
        """The container that a client takes; MPEG audio where it does not care."""
        return negotiate(accept) or DEFAULT_MEDIA_TYPE

    async def speak(self, say: str, media_type: str) -> AsyncGenerator[bytes, None]:
        """The sentence, spoken, from the first clause on. Raises TooMany or Unavailable."""
        if self._mouth is None:
            raise Unavailable("no_speech")
        try:
            async with aclosing(self._mouth.speak(split(say), media_type)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except Busy as error:
            raise TooMany("busy") from error
        except VoiceError as error:
            raise Unavailable("no_speech") from error
