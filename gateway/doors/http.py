"""The HTTP door: contract 4.1 and 4.2. It checks who is there, reads, and logs one line per request."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from aiohttp import web

from gateway.clock import Clock
from gateway.doors import bodies, replies
from gateway.doors.access import Access, bearer_tokens
from gateway.doors.call import Call, Route
from gateway.doors.protocol import PlainResponse
from gateway.doors.voice import VoicePaths
from gateway.doors.writing import Writer
from gateway.errors import (
    BadRequest,
    GatewayError,
    MethodNotAllowed,
    NotFound,
    NothingUsable,
    TooLargeRequest,
    Unauthorized,
)
from gateway.fields import Fields
from gateway.phrases import Phrases
from gateway.settings.settings import Settings

log = logging.getLogger("codriver.http")

_ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, X-Codriver-Client, X-Voice-Client"
_FIELD_HEADERS = {"X-Codriver-Client": "client", "Idempotency-Key": "id"}


@dataclass(frozen=True, slots=True)
class Doorway:
    """What the door leads to. `reasons` names what is not ready yet."""

    settings: Settings
    phrases: Phrases
    clock: Clock
    access: Access
    voice: VoicePaths
    writer: Writer
    reasons: Callable[[], Awaitable[list[str]]]


class HttpDoor:
    """Handles every request."""

    def __init__(self, doorway: Doorway) -> None:
        self._to = doorway
        voice = doorway.voice
        both, get = frozenset({"GET", "POST"}), frozenset({"GET", "HEAD"})
        self._routes: Mapping[str, Route] = {
            route.template: route
            for route in (
                Route("/voice/ask", both, voice.ask, is_voice=True),
                Route("/voice/reply", both | {"HEAD"}, voice.reply, is_voice=True),
                Route("/voice/sessions", both | {"HEAD"}, voice.listed, is_voice=True),
                Route("/voice/ping", both | {"HEAD"}, voice.ping, is_voice=True),
                Route("/healthz", get, self._healthz, is_open=True, is_local=True),
                Route("/readyz", get, self._readyz, is_local=True),
            )
        }
        self._nowhere = Route("-", frozenset(), self._not_found)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, whatever it is, and log one line about it."""
        route, path_tokens = self._find(request.raw_path)
        call = Call(request, self._to.clock.monotonic(), self._to.access.caller(request), route, Fields(()))
        status = 0
        try:
            response = await self._answer(call, path_tokens)
            status = response.status
            return response
        finally:
            log.info(
                "%s %s status=%d state=%s ms=%d",
                request.method if request.method.isalpha() else "?",
                route.template,
                status,
                call.state,
                round((self._to.clock.monotonic() - call.began_at) * 1000),
            )

    async def _answer(self, call: Call, path_tokens: Sequence[str]) -> web.StreamResponse:
        try:
            return await self._serve(call, path_tokens)
        except GatewayError as error:
            return await self._refuse(call, error)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            # Its text may hold what was said, so only its kind and place are logged.
            log.error("internal error=%s at=%s", type(error).__name__, _place(error))
            return await self._refuse(call, GatewayError("internal"))

    def _find(self, raw_path: str) -> tuple[Route, Sequence[str]]:
        """The route of a path, and a token that may stand in it: `/voice/T/ask`, `/T/voice/ask`."""
        path = raw_path.partition("?")[0].partition("#")[0]
        pieces = [unquote(piece, errors="surrogateescape") for piece in path.split("/") if piece]
        found = self._routes.get("/" + "/".join(pieces))
        if found is not None:
            return found, ()
        for i in range(len(pieces) if self._to.settings.auth.path_token else 0):
            found = self._routes.get("/" + "/".join(pieces[:i] + pieces[i + 1 :]))
            if found is not None and not found.is_open:
                return found, (pieces[i],)
        return self._nowhere, ()

    async def _serve(self, call: Call, path_tokens: Sequence[str]) -> web.StreamResponse:
        request, access = call.request, self._to.access
        access.admit(request)
        if request.method == "OPTIONS":
            return self._preflight(request)
        if call.route.is_local and call.caller.is_proxied:
            raise NotFound("not_found")
        await self._read(call, path_tokens)
        if call.route is self._nowhere:
            raise NotFound("not_found")
        if request.method not in call.route.methods:
            raise MethodNotAllowed("method_not_allowed")
        return await call.route.handle(call)

    async def _read(self, call: Call, path_tokens: Sequence[str]) -> None:
        """Read fields and body; of the body no more than is needed to find a token, until one is right."""
        server, request = self._to.settings.server, call.request
        kind = request.headers.get("Content-Type", "")
        query = _query(request)
        reader = bodies.BodyReader(request, server.body_limit_bytes, server.body_timeout_s)
        call.fields = _form_only(query or ())
        if not call.route.is_open:
            tokens = [*bearer_tokens(request), *path_tokens, *_values(query or (), "token")]
            if not tokens:
                tokens = await _body_tokens(reader, kind)
            self._to.access.authorise(request, tokens, call.caller)
            call.is_authorised = True
        if query is None:
            query = bodies.query_fields(request.raw_path)
        body = await bodies.parse(await reader.whole(), kind)
        headers = [
            (name, request.headers[header])
            for header, name in _FIELD_HEADERS.items()
            if header in request.headers
        ]
        call.recording = body.recording
        call.fields = Fields([*headers, *query, *body.fields])

    def _preflight(self, request: web.Request) -> web.StreamResponse:
        origin = request.headers.get("Origin", "")
        response = PlainResponse(status=204)
        if self._to.access.is_allowed_origin(origin):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Allow-Methods"] = "GET, POST"
            response.headers["Access-Control-Allow-Headers"] = _ALLOWED_HEADERS
            response.headers["Access-Control-Max-Age"] = "600"
            response.headers["Vary"] = "Origin"
        return response

    async def _refuse(self, call: Call, error: GatewayError) -> web.StreamResponse:
        answer = replies.of_error(error, self._to.phrases)
        if isinstance(error, TooLargeRequest | Unauthorized) or error.code in ("too_slow", "unparsable"):
            # The rest of the body is not wanted.
            call.request.protocol.close()
        try:
            return await self._to.writer.hand_over(call, answer)
        except GatewayError:
            # Speech failed as well: the sentence as text.
            response = self._to.writer.plain(call, answer)
            await response.prepare(call.request)
            await response.write_eof()
            return response

    async def _healthz(self, call: Call) -> web.StreamResponse:
        return PlainResponse(text="ok\n")

    async def _readyz(self, call: Call) -> web.StreamResponse:
        reasons = await self._to.reasons()
        text = "ready\n" if not reasons else "".join(f"{reason}\n" for reason in reasons)
        return PlainResponse(status=503 if reasons else 200, text=text)

    async def _not_found(self, call: Call) -> web.StreamResponse:
        raise NotFound("not_found")


def _query(request: web.Request) -> list[tuple[str, str]] | None:
    """The query's fields; None where it is broken, which is said only to who may come in."""
    try:
        return bodies.query_fields(request.raw_path)
    except BadRequest:
        return None


def _values(fields: Sequence[tuple[str, str]], name: str) -> list[str]:
    return [value for key, value in fields if key == name and value]


def _form_only(query: Sequence[tuple[str, str]]) -> Fields:
    """What of the query says how to answer, for an error before everything was read."""
    try:
        return Fields([(name, value) for name, value in query if name == "format"])
    except BadRequest:
        return Fields(())


async def _body_tokens(reader: bodies.BodyReader, kind: str) -> list[str]:
    start = await reader.start()
    if start is None:
        return []
    try:
        body = await bodies.parse(start, kind)
    except (BadRequest, NothingUsable):
        return []
    return _values(body.fields, "token")


def _place(error: BaseException) -> str:
    """The innermost function of a traceback; no values."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "?" if step is None else f"{step.tb_frame.f_code.co_name}:{step.tb_lineno}"
