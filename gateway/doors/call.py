"""One HTTP request on its way through the door, and what is known of it."""

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from aiohttp import web

from gateway.doors.access import Caller
from gateway.fields import Fields

_VOICE_AGENT = re.compile(r"Shortcuts|BackgroundShortcutRunner", re.IGNORECASE)
_ACCEPT_CHARS = 4096


@dataclass(frozen=True, slots=True)
class Route:
    """One path: its name in logs, the methods it takes, and who may see it.

    `is_open` needs no token and reads nothing, `is_local` is not there for anything that came
    through a proxy, `is_voice` answers voice clients with 200.
    """

    template: str
    methods: frozenset[str]
    handle: Callable[["Call"], Awaitable[web.StreamResponse]]
    is_open: bool = False
    is_local: bool = False
    is_voice: bool = False


@dataclass(slots=True)
class Call:
    """One request. `state` is what the log line says.

    `began_at` and `read_at` (once it was read whole) are on the monotonic clock; waits count
    from the latter, so that a slow upload does not use them up.

    `is_answered` once the first byte of a response may have been written: there can be no other.
    """

    request: web.BaseRequest
    began_at: float
    caller: Caller
    route: Route
    fields: Fields
    read_at: float = 0.0
    recording: bytes | None = None
    state: str = "-"
    is_authorised: bool = False
    is_answered: bool = False

    @property
    def is_voice_client(self) -> bool:
        """It speaks what it gets, and may drop anything but a 200."""
        headers = self.request.headers
        return "X-Voice-Client" in headers or bool(_VOICE_AGENT.search(headers.get("User-Agent", "")))

    @property
    def form(self) -> str:
        """text, json or audio: by the field, else by the Accept header."""
        return self.fields.text("format") or accepted_form(self.request.headers.get("Accept", ""))


def accepted_form(accept: str) -> str:
    """What an Accept header likes best: the highest quality, then the more exact, then the first."""
    best, form = (0.0, False), "text"
    for media_type, quality in _ranges(accept[:_ACCEPT_CHARS]):
        found = _form_of(media_type)
        rank = (quality, media_type != "*/*")
        if found and quality > 0 and rank > best:
            best, form = rank, found
    return form


def _form_of(media_type: str) -> str:
    if media_type == "application/json" or media_type.endswith("+json"):
        return "json"
    if media_type.startswith("audio/") or media_type == "application/ogg":
        return "audio"
    return "text" if media_type.startswith("text/") or media_type == "*/*" else ""


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    for one in accept.casefold().split(","):
        media_type, *parameters = (piece.strip() for piece in one.split(";"))
        quality = 1.0
        for name, _, value in (parameter.partition("=") for parameter in parameters):
            if name.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        yield media_type, quality
