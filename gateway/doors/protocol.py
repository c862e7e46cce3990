"""aiohttp's HTTP protocol with what it leaves open closed (measured on aiohttp 3.14.5).

It answers requests that do not parse by itself, outside any middleware, and echoes the
request line and headers, with a token in them, into the body and the log; it never
times out a header that does not end; and it drops a reply whose header value holds a
line break. (GET handlers that run for HEAD are closed by our own routing.)
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse

from gateway.phrases import Phrases

HEADER_S = 10.0
"""How long a request's header may take to arrive."""

_KEEPALIVE_S = 75.0
_LINGER_S = 2.0
_LINE_BREAKS = str.maketrans("\r\n\0", "   ")

log = logging.getLogger("codriver.http")


class PlainResponse(web.Response):
    """A response that does not say which server wrote it, and that nobody keeps."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        harden(self)


class PlainStream(web.StreamResponse):
    """The same for a streamed body."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        harden(self)


def harden(response: StreamResponse) -> None:
    """Set what every response has, and make every header value one line."""
    headers = response.headers
    headers.popall("Server", None)
    headers.setdefault("Cache-Control", "no-store")
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "no-referrer")
    for name, value in list(headers.items()):
        if value != value.translate(_LINE_BREAKS):
            headers[name] = value.translate(_LINE_BREAKS)


class CarefulHandler(RequestHandler):
    """One connection."""

    def __init__(self, manager: "CarefulServer", **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self._phrases = manager.phrases
        self._header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if isinstance(self._manager, CarefulServer) and self._manager.is_full:
            self.force_close()
            return
        self._await_header()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._header_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self._request_count
        if not self._request_in_progress and self._header_timer is None:
            self._await_header()
        super().data_received(data)
        if self._request_count > before or self._request_in_progress:
            self._header_arrived()

    def _await_header(self) -> None:
        self._header_timer = self._loop.call_later(HEADER_S, self.force_close)

    def _header_arrived(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> StreamResponse:
        """Answer with a sentence of ours; nothing of the request goes into the body or the log."""
        kind = type(exc).__name__ if exc is not None else "unknown"
        log.warning("unanswerable request status=%d error=%s", status, kind)
        if request.writer.output_size > 0:
            raise ConnectionError("the response was begun")
        key = "internal" if status >= 500 else "unparsable"
        response = PlainResponse(status=status, text=self._phrases.say(key))
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Name the kind of an unexpected error; its text may hold what was said."""
        error = kwargs.get("exc_info")
        log.error("connection failed error=%s", type(error).__name__)

    def log_debug(self, *args: Any, **kwargs: Any) -> None:
        """aiohttp's own debug lines name nothing that we need."""


class CarefulServer(web.Server):
    """Makes careful handlers, and not more of them than `max_connections`."""

    def __init__(
        self,
        handler: Callable[[BaseRequest], Awaitable[StreamResponse]],
        phrases: Phrases,
        max_connections: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(handler, **kwargs)
        self.phrases = phrases
        self._max_connections = max_connections

    @property
    def is_full(self) -> bool:
        """More connections are open than are served at once."""
        return len(self.connections) > self._max_connections

    def __call__(self) -> RequestHandler:
        return CarefulHandler(
            self,
            loop=self._loop,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=_KEEPALIVE_S,
            lingering_time=_LINGER_S,
        )


class CarefulRunner(web.AppRunner):
    """Runs an application on careful connections."""

    def __init__(self, app: web.Application, phrases: Phrases, max_connections: int) -> None:
        super().__init__(app, access_log=None, shutdown_timeout=5.0)
        self._phrases = phrases
        self._max_connections = max_connections

    async def _make_server(self) -> web.Server:
        await super()._make_server()
        return CarefulServer(
            self._app._handle,  # type: ignore[arg-type]
            self._phrases,
            self._max_connections,
            request_factory=self._app._make_request,
        )
