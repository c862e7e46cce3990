"""Everything that can go wrong with speech, each with a stable code.

::

    VoiceError
    ├── Unreadable          unreadable         not a recording, or nothing in it can be decoded
    │   └── Truncated       truncated          a recording that was cut off before it could be read
    ├── TooLong             too_long           more seconds of sound than allowed
    ├── TooLarge            too_large          more bytes than allowed
    ├── Busy                busy               the queue for recognition is full
    ├── ModelMissing        model_missing      no such speech model on this machine
    ├── ModelMismatch       model_mismatch     a model file is not the one that was pinned
    ├── RecognitionFailed   recognition_failed the recogniser failed on a recording it was given
    ├── SynthesisFailed     synthesis_failed   the text could not be spoken
    └── DecoderFailed       decoder_failed     the decoding process itself failed

Silence is not among them: a recording in which nobody speaks is a result.
The text of an error is for logs and the command line. It names no path, holds
no word that was spoken, and is never read aloud.
"""

from typing import ClassVar


class VoiceError(Exception):
    """Base of every error this package raises on purpose."""

    code: ClassVar[str] = "voice"


class Unreadable(VoiceError):
    """The bytes are not a recording, or hold no sound that can be decoded."""

    code = "unreadable"


class Truncated(Unreadable):
    """The recording was cut off before the part without which it can't be read."""

    code = "truncated"


class TooLong(VoiceError):
    """The recording holds more seconds of sound than allowed."""

    code = "too_long"


class TooLarge(VoiceError):
    """The recording has more bytes than allowed."""

    code = "too_large"


class Busy(VoiceError):
    """Too many recordings are waiting to be recognised; try again shortly."""

    code = "busy"


class ModelMissing(VoiceError):
    """The speech model, or the engine it needs, is not on this machine."""

    code = "model_missing"


class ModelMismatch(VoiceError):
    """A file of a pinned speech model differs from the one that was checked."""

    code = "model_mismatch"


class RecognitionFailed(VoiceError):
    """The recogniser itself failed on a recording that could be decoded."""

    code = "recognition_failed"


class SynthesisFailed(VoiceError):
    """The text could not be turned into sound."""

    code = "synthesis_failed"


class DecoderFailed(VoiceError):
    """The decoding process could not be started, crashed or ran out of time."""

    code = "decoder_failed"
