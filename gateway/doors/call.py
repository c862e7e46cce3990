"""One HTTP request on its way through the door, and what is known of it."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from gateway.doors.access import Caller
from gateway.fields import Fields

_VOICE_AGENT = re.compile(r"Shortcuts|BackgroundShortcutRunner", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Route:
    """One path: its name in logs, the methods it takes, and who may see it.

    `is_open` needs no token, `is_local` is not there for anything that came through a proxy,
    `is_voice` answers voice clients with 200.
    """

    template: str
    methods: frozenset[str]
    handle: Callable[["Call"], Awaitable[web.StreamResponse]]
    is_open: bool = False
    is_local: bool = False
    is_voice: bool = False


@dataclass(slots=True)
class Call:
    """One request. `began_at` is on the monotonic clock; `state` is what the log line says."""

    request: web.Request
    began_at: float
    caller: Caller
    route: Route
    fields: Fields
    recording: bytes | None = None
    state: str = "-"
    is_authorised: bool = False

    @property
    def is_voice_client(self) -> bool:
        """It speaks what it gets, and may drop anything but a 200."""
        headers = self.request.headers
        return "X-Voice-Client" in headers or bool(_VOICE_AGENT.search(headers.get("User-Agent", "")))

    @property
    def form(self) -> str:
        """text, json or audio: by the field, else by the Accept header."""
        named = self.fields.text("format")
        if named:
            return named
        accept = self.request.headers.get("Accept", "").casefold()
        if "application/json" in accept:
            return "json"
        return "audio" if accept.lstrip().startswith("audio/") else "text"
