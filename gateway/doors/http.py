"""The HTTP door: contract 4.1 and 4.2. It checks who is there, reads, and logs one line per request."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aiohttp import web

from gateway.clock import Clock
from gateway.doors import bodies, replies
from gateway.doors.access import Access, bearer_tokens
from gateway.doors.call import Call, Route
from gateway.doors.responses import PlainResponse
from gateway.doors.target import Target
from gateway.doors.voice import VoicePaths
from gateway.doors.writing import Writer
from gateway.errors import BadRequest, GatewayError, MethodNotAllowed, NotFound
from gateway.fields import Fields
from gateway.phrases import Phrases
from gateway.settings.settings import Settings

log = logging.getLogger("codriver.http")

_ALLOWED_METHODS = "GET, POST"
_ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, X-Codriver-Client, X-Voice-Client"
_FIELD_HEADERS = {"X-Codriver-Client": "client", "Idempotency-Key": "id"}
_IDENTITY = ("", "identity")
_LEFT_S, _LEFT_IDLE_S = 10.0, 1.0
_LEFT_STRANGER_S, _LEFT_STRANGER_BYTES = 2.0, 256 * 1024


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

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, whatever it is, and log one line about it."""
        target = Target.of(request.raw_path)
        route, path_tokens = self._find(target)
        call = Call(request, self._to.clock.monotonic(), self._to.access.caller(request), route, Fields(()))
        status = 0
        try:
            response = await self._answer(call, target, path_tokens)
            status = response.status
            await self._leave_body(call)
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

    async def _answer(self, call: Call, target: Target, path_tokens: Sequence[str]) -> web.StreamResponse:
        try:
            return await self._serve(call, target, path_tokens)
        except GatewayError as error:
            if not call.is_answered:
                return await self._refuse(call, error)
            kind, place = error.code, _place(error)
        except (ConnectionError, asyncio.CancelledError):
            self._cut(call)
            raise
        except Exception as error:
            # Its text may hold what was said, so only its kind and place are logged.
            kind, place = type(error).__name__, _place(error)
        log.error("internal error=%s at=%s", kind, place)
        if call.is_answered:
            # Nothing sensible can follow what was written already.
            self._cut(call)
            raise ConnectionAbortedError
        return await self._refuse(call, GatewayError("internal"))

    def _cut(self, call: Call) -> None:
        """Let a client that got a part of a response know that it is not whole."""
        if call.is_answered and call.request.transport is not None:
            call.request.transport.abort()

    def _find(self, target: Target) -> tuple[Route, Sequence[str]]:
        """The route of a path, and a token that may stand in it: `/voice/T/ask`, `/T/voice/ask`."""
        pieces = target.pieces
        found = self._routes.get("/" + "/".join(pieces))
        if found is not None:
            return found, ()
        for i in range(len(pieces) if self._to.settings.auth.path_token else 0):
            found = self._routes.get("/" + "/".join(pieces[:i] + pieces[i + 1 :]))
            if found is not None and not found.is_open:
                return found, (pieces[i],)
        return self._nowhere, ()

    async def _serve(self, call: Call, target: Target, path_tokens: Sequence[str]) -> web.StreamResponse:
        request, route, access = call.request, call.route, self._to.access
        call.fields = _form_only(target.loose_fields())
        access.admit(request, target.authority)
        if request.method == "OPTIONS":
            return await self._preflight(call)
        if route.is_local and call.caller.is_proxied:
            raise NotFound("not_found")
        if not route.is_open:
            server = self._to.settings.server
            reader = bodies.BodyReader(request, server.body_limit_bytes, server.body_timeout_s)
            body = await self._authorise(call, target, path_tokens, reader)
            self._check_route(call)
            await self._read(call, target, reader, body)
        else:
            self._check_route(call)
        return await route.handle(call)

    def _check_route(self, call: Call) -> None:
        if call.route is self._nowhere:
            raise NotFound("not_found")
        if call.request.method not in call.route.methods:
            raise MethodNotAllowed("method_not_allowed")

    async def _authorise(
        self, call: Call, target: Target, path_tokens: Sequence[str], reader: bodies.BodyReader
    ) -> bodies.Body | None:
        """Find a right token, last of all in a small body; that body if it was read for it."""
        request, access = call.request, self._to.access
        tokens = [*bearer_tokens(request), *path_tokens, *_tokens(target.loose_fields())]
        body: bodies.Body | None = None
        if access.needs_token and not access.is_right(tokens):
            body = await _small_body(reader, request)
            if body is not None:
                tokens += _tokens(body.fields)
                call.fields = _form_only([*target.loose_fields(), *body.fields])
        access.authorise(request, tokens, call.caller)
        call.is_authorised = True
        return body

    async def _read(
        self, call: Call, target: Target, reader: bodies.BodyReader, body: bodies.Body | None
    ) -> None:
        """Read fields and recording. Raises BadRequest, TooLargeRequest or NothingUsable."""
        request = call.request
        query = target.fields()
        if request.headers.get("Content-Encoding", "").strip().casefold() not in _IDENTITY:
            raise BadRequest("compressed")
        if body is None:
            body = bodies.parse(await reader.whole(), request.headers.get("Content-Type", ""))
        headers = [
            (name, value)
            for header, name in _FIELD_HEADERS.items()
            for value in request.headers.getall(header, [])
        ]
        given = [*headers, *query, *body.fields]
        call.fields = _form_only(given)
        if body.problem is not None:
            raise body.problem
        call.recording = body.recording
        call.fields = Fields(given)
        call.read_at = self._to.clock.monotonic()

    async def _preflight(self, call: Call) -> web.StreamResponse:
        origin = call.request.headers.get("Origin", "")
        response = PlainResponse(status=204)
        if self._to.access.is_allowed_origin(origin):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Allow-Methods"] = _ALLOWED_METHODS
            response.headers["Access-Control-Allow-Headers"] = _ALLOWED_HEADERS
            response.headers["Access-Control-Max-Age"] = "600"
            response.headers["Vary"] = "Origin"
        return await self._to.writer.finish(call, response)

    async def _refuse(self, call: Call, error: GatewayError) -> web.StreamResponse:
        answer = replies.of_error(error, self._to.phrases)
        if isinstance(error, MethodNotAllowed):
            allowed = ", ".join(sorted({*call.route.methods, "OPTIONS"}))
            answer = replace(answer, headers={**answer.headers, "Allow": allowed})
        if error.code == "internal":
            # What failed may have been the voice.
            call.state = "error"
            return await self._to.writer.finish(call, self._to.writer.plain(call, answer))
        return await self._to.writer.hand_over(call, answer)

    async def _leave_body(self, call: Call) -> None:
        """Drop what is left of a body, so that the client gets to read the answer; not for long."""
        content = call.request.content
        seconds, limit_bytes = _LEFT_S, self._to.settings.server.body_limit_bytes
        if not call.is_authorised:
            seconds, limit_bytes = _LEFT_STRANGER_S, _LEFT_STRANGER_BYTES
        try:
            async with asyncio.timeout(seconds):
                while not content.is_eof() and limit_bytes > 0:
                    limit_bytes -= len(await asyncio.wait_for(content.readany(), _LEFT_IDLE_S))
        except (TimeoutError, ConnectionError, web.RequestPayloadError):
            return

    async def _healthz(self, call: Call) -> web.StreamResponse:
        return await self._to.writer.finish(call, PlainResponse(text="ok\n"))

    async def _readyz(self, call: Call) -> web.StreamResponse:
        reasons = await self._to.reasons()
        text = "ready\n" if not reasons else "".join(f"{reason}\n" for reason in reasons)
        return await self._to.writer.finish(call, PlainResponse(status=503 if reasons else 200, text=text))

    async def _not_found(self, call: Call) -> web.StreamResponse:
        raise NotFound("not_found")


def _tokens(fields: Sequence[tuple[str, str]]) -> list[str]:
    return [value for name, value in fields if name == "token" and value]


def _form_only(given: Sequence[tuple[str, str]]) -> Fields:
    """What says how to answer, for an error before everything was read and checked."""
    try:
        return Fields([(name, value) for name, value in given if name == "format"])
    except BadRequest:
        return Fields(())


async def _small_body(reader: bodies.BodyReader, request: web.BaseRequest) -> bodies.Body | None:
    """What a body small enough to look for a token in holds.

    One that comes too slowly or is broken holds none, and the caller is told no more than that.
    """
    try:
        start = await reader.start()
    except BadRequest:
        return None
    return None if start is None else bodies.parse(start, request.headers.get("Content-Type", ""))


def _place(error: BaseException) -> str:
    """The innermost function of a traceback; no values."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "?" if step is None else f"{step.tb_frame.f_code.co_name}:{step.tb_lineno}"
