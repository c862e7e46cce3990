"""Every setting: its type, its range and its default.

The reasons for the defaults stand in `config/codriver.yaml`, which a test holds equal to this.
Types are strict: "8787" is no port and `yes` no text. A field's `description` says what is
expected of it where its type and range do not say enough. `CODRIVER_<SECTION>_<KEY>` follows
from the names, so a new setting is one line here and one entry in the documented file.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from gateway import resources

_HASHED_TOKEN = re.compile(r"sha256:[0-9a-fA-F]{64}")
_VISIBLE_ASCII = re.compile(r"[!-~]*")


class SttEngine(StrEnum):
    """What turns speech into text."""

    WHISPER = "whisper"


class TtsEngine(StrEnum):
    """What turns text into speech."""

    PIPER = "piper"


class LogLevel(StrEnum):
    """The least that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _token(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    if text.startswith("sha256:"):
        if not _HASHED_TOKEN.fullmatch(text):
            raise ValueError
        return SecretStr(text.lower())
    if not _VISIBLE_ASCII.fullmatch(text):
        raise ValueError
    return secret


def _phrases_exist(language: str) -> str:
    if language not in resources.languages():
        raise ValueError
    return language


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Name = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]
Names = Annotated[tuple[Name, ...], BeforeValidator(_tuple)]
Hosts = Annotated[tuple[Annotated[str, Field(pattern=r"^[^\s/@]+$")], ...], BeforeValidator(_tuple)]
Origins = Annotated[
    tuple[Annotated[str, Field(pattern=r"^https?://[^\s/@?#]+$")], ...], BeforeValidator(_tuple)
]
Aliases = Mapping[Name, Name]
Wait = Annotated[float, Field(ge=0, le=45)]


class Section(BaseModel):
    """One section of the settings: unknown keys, loose types and later changes are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )


class Server(Section):
    """Where the gateway listens, and what it takes."""

    host: str = Field(default="127.0.0.1", pattern=r"^[^\s/@]+$", description="a host name or an address")
    port: int = Field(default=8787, ge=0, le=65535)
    allowed_hosts: Hosts = Field(default=(), description="a list of host names, without a scheme or a path")
    allowed_origins: Origins = Field(
        default=(), description="a list of origins like https://name.example, no path"
    )
    body_timeout_s: float = Field(default=30, ge=1, le=300)
    body_limit_bytes: int = Field(default=26214400, ge=65536, le=104857600)
    max_connections: int = Field(default=256, ge=1, le=4096)


class Auth(Section):
    """Who gets in."""

    token: Annotated[SecretStr, AfterValidator(_token)] = Field(
        default=SecretStr(""),
        description="visible ASCII characters without blanks, or sha256: and 64 hex digits",
    )
    path_token: bool = True
    failures_per_minute: int = Field(default=10, ge=1, le=1000)


class State(Section):
    """What is kept on disk."""

    dir: str = Field(
        default="", pattern=r"^[^\x00]*$", description="a directory, or nothing for the platform's own"
    )
    keep_days: int = Field(default=7, ge=1, le=3650)


class Sessions(Section):
    """Which sessions may be driven, and what they are called."""

    default_session: str = Field(
        default="", pattern=r"^(\S(.*\S)?)?$", description="the name of a session, or nothing"
    )
    aliases: Aliases = Field(default={}, description="a map of spoken names to session names")
    allow: Names = Field(default=(), description="a list of names, aliases, directories or ids")
    deny: Names = Field(default=(), description="a list of names, aliases, directories or ids")
    readonly: bool = False
    allow_self: bool = False


class Dialog(Section):
    """How a conversation goes."""

    ask_wait_s: Wait = 8
    reply_wait_s: Wait = 15
    relay_discipline: bool = True
    plain_questions: bool = True
    progress: bool = True
    join_s: float = Field(default=30, ge=0, le=300)


class Speech(Section):
    """What is spoken, by whichever voice."""

    max_words: int = Field(default=60, ge=20, le=200)
    language: Annotated[str, AfterValidator(_phrases_exist)] = Field(
        default="en", description="a language with a phrases file"
    )


class Stt(Section):
    """Speech to text."""

    engine: SttEngine = Field(default=SttEngine.WHISPER, strict=False)
    model: Name = Field(default="tiny.en", description="the name of a model, or a path")
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$", description="a language code like en")
    beam_size: int = Field(default=5, ge=1, le=10)
    threads: int = Field(default=2, ge=1, le=64)
    workers: int = Field(default=1, ge=1, le=8)
    queue: int = Field(default=4, ge=1, le=64)
    audio_seconds: float = Field(default=120, ge=1, le=600)


class Tts(Section):
    """Text to speech."""

    engine: TtsEngine = Field(default=TtsEngine.PIPER, strict=False)
    model: Name = Field(default="en_US-joe-medium", description="the name of a voice, or a path")
    length_scale: float = Field(default=1.1, ge=0.5, le=2)
    queue: int = Field(default=4, ge=1, le=64)


class Log(Section):
    """What is written to the log; never a word that was spoken, never a token."""

    level: LogLevel = Field(default=LogLevel.INFO, strict=False)


class Sections(Section):
    """All sections."""

    server: Server = Server()
    auth: Auth = Auth()
    state: State = State()
    sessions: Sessions = Sessions()
    dialog: Dialog = Dialog()
    speech: Speech = Speech()
    stt: Stt = Stt()
    tts: Tts = Tts()
    log: Log = Log()
