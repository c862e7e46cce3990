"""aiohttp's HTTP protocol with what it leaves open closed (docs/decisions/0006-own-request-handler.md).

It answers requests that do not parse by itself, and echoes the request line and headers, with a
token in them, into the body and the log; it never times out a header that does not end; and it
serves any number of connections. All of this was measured on aiohttp 3.14.5.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from gateway.doors.responses import PlainResponse
from gateway.phrases import Phrases

log = logging.getLogger("codriver.http")

_STATE = {"X-Voice-State": "error"}
_TURNED_AWAY = """\
HTTP/1.1 429 Too Many Requests\r
Content-Type: text/plain; charset=utf-8\r
Content-Length: {length}\r
X-Voice-State: error\r
Cache-Control: no-store\r
X-Content-Type-Options: nosniff\r
Retry-After: 5\r
Connection: close\r
\r
"""
_FAREWELL_S = 1.0
_FAREWELLS = 64


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections are served at once, and how long one may take with a request's header."""

    connections: int
    header_s: float = 10.0
    keepalive_s: float = 75.0


class CarefulHandler(RequestHandler):
    """One connection."""

    def __init__(self, server: "CarefulServer", **kwargs: Any) -> None:
        super().__init__(server, **kwargs)
        self._careful = server
        self._header_timer: asyncio.TimerHandle | None = None
        self.is_turned_away = False
        """There was no room for it; it is told so and closed."""
        self.waits_since = self._loop.time()
        """When its last complete header arrived, else when it connected."""

    @property
    def is_waiting(self) -> bool:
        """No request of it is being answered: it is idle, or on the way with a header."""
        return self._waiter is not None and not self._waiter.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._careful.make_room(self):
            self._await_header()
        else:
            self._turn_away()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._header_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.is_turned_away:
            return
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            self._header_arrived()
            self.waits_since = self._loop.time()
        elif data and self.is_waiting and self._header_timer is None:
            self._await_header()

    def _await_header(self) -> None:
        self._header_timer = self._loop.call_later(self._careful.limits.header_s, self.force_close)

    def _header_arrived(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _turn_away(self) -> None:
        """Say that there is too much to do, and close in a moment."""
        self.is_turned_away = True
        if self.transport is None or self._careful.turned_away > _FAREWELLS:
            self.force_close()
            return
        self.transport.write(self._careful.farewell)
        self.transport.write_eof()
        self._loop.call_later(_FAREWELL_S, self.force_close)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer with a sentence of ours; nothing of the request goes into the body or the log."""
        if isinstance(exc, ConnectionError):
            # The client hung up; there is nobody to answer.
            raise exc
        kind = type(exc).__name__ if exc is not None else "unknown"
        log.warning("unanswerable request status=%d error=%s", status, kind)
        if request.writer.output_size > 0:
            raise ConnectionError("the response was begun")
        key = "internal" if status >= 500 else "unparsable"
        response = PlainResponse(status=status, text=self._careful.phrases.say(key), headers=_STATE)
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Name the kind of an unexpected error; its text may hold what was said."""
        error = kwargs.get("exc_info")
        log.error("connection failed error=%s", type(error).__name__)

    def log_debug(self, *args: Any, **kwargs: Any) -> None:
        """aiohttp's own debug lines name nothing that we need."""


class CarefulServer(web.Server):
    """Makes careful handlers, and keeps no more connections than its limits allow.

    There is no `web.Application` behind it: its router would answer a path with a line break, a
    target in absolute form and an unknown `Expect` by itself, before any check of ours.
    """

    def __init__(
        self,
        handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        phrases: Phrases,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(handle)
        self.phrases = phrases
        self.limits = limits
        sentence = phrases.say("busy").encode()
        self.farewell = _TURNED_AWAY.format(length=len(sentence)).encode() + sentence

    @property
    def turned_away(self) -> int:
        """How many connections are about to be closed because there was no room for them."""
        return sum(handler.is_turned_away for handler in self._open())

    def make_room(self, newcomer: CarefulHandler) -> bool:
        """Whether one more connection can be served, if need be by closing the one that waits longest.

        Whoever holds connections open without asking anything keeps nobody out.
        """
        if len(self.connections) <= self.limits.connections:
            return True
        served = [handler for handler in self._open() if not handler.is_turned_away]
        if len(served) <= self.limits.connections:
            return True
        waiting = [handler for handler in served if handler.is_waiting and handler is not newcomer]
        if not waiting:
            return False
        min(waiting, key=lambda handler: handler.waits_since).force_close()
        return True

    def _open(self) -> list[CarefulHandler]:
        return [
            handler
            for handler in self.connections
            if isinstance(handler, CarefulHandler) and handler.transport is not None
        ]

    def __call__(self) -> RequestHandler:
        return CarefulHandler(
            self,
            loop=self._loop,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=self.limits.keepalive_s,
            # What is left of a body is the door's to read or to leave.
            lingering_time=0.0,
        )
