"""Writes answers: as text, JSON or speech, and reports what was written whole."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing, nullcontext

from aiohttp import web

from gateway.dialog import Dialog
from gateway.doors import replies
from gateway.doors.access import Access
from gateway.doors.call import Call
from gateway.doors.responses import PlainResponse, PlainStream
from gateway.errors import GatewayError
from gateway.store import Heard
from gateway.talking import Talking

_WRITE_S = 60.0
_TOO_LARGE = 413
_EXPOSED = "X-Voice-State, X-Voice-Session, X-Voice-Cursor, X-Voice-Heard"


class Writer:
    """Hands answers over to clients."""

    def __init__(self, dialog: Dialog, talking: Talking, access: Access) -> None:
        self._dialog = dialog
        self._talking = talking
        self._access = access

    async def hand_over(
        self, call: Call, answer: replies.Answer, heard: Heard | None = None
    ) -> web.StreamResponse:
        """Write an answer whole; only then is what it told not new any more.

        What should be spoken and cannot be comes as text, and stays new. Raises ConnectionError
        where the client is gone or takes nothing.
        """
        call.state = answer.headers.get("X-Voice-State", "-")
        is_spoken = call.form == "audio" and call.is_authorised and call.request.method != "HEAD"
        if is_spoken and self._talking.can_speak:
            response = await self._speak(call, answer)
            if response is not None:
                return await self.finish(call, response, heard)
            heard = None
        return await self.finish(call, self.plain(call, answer), heard)

    async def finish(
        self, call: Call, response: web.StreamResponse, heard: Heard | None = None
    ) -> web.StreamResponse:
        """Write what is left of a response. Raises ConnectionError where that does not succeed."""
        call.is_answered = True
        if not call.request.content.is_eof():
            # More of the body may come, which nobody reads.
            response.force_close()
        async with nullcontext() if heard is None else self._dialog.handing_over(heard):
            await _in_time(self._write_end(call, response))
        return response

    async def _write_end(self, call: Call, response: web.StreamResponse) -> None:
        await response.prepare(call.request)
        await response.write_eof()
        if call.request.transport is None or call.request.transport.is_closing():
            raise ConnectionResetError

    def plain(self, call: Call, answer: replies.Answer) -> web.StreamResponse:
        """The answer as text or JSON, not yet written."""
        data, kind = replies.body(answer, call.form)
        response = PlainResponse(status=self._status(call, answer), body=data, headers=answer.headers)
        response.headers["Content-Type"] = kind
        self._allow_origin(call.request, response)
        return response

    async def _speak(self, call: Call, answer: replies.Answer) -> web.StreamResponse | None:
        """The answer spoken, all but its end written; None where there is no first sound of it.

        Raises ConnectionError where speech fails further on: then the reply is cut, and stays new.
        """
        kind = self._talking.media_type(call.request.headers.get("Accept"))
        async with aclosing(self._talking.speak(answer.say, kind)) as chunks:
            first = await _first(chunks)
            if not first:
                return None
            call.is_answered = True
            response = PlainStream(status=self._status(call, answer), headers=answer.headers)
            response.content_type = kind
            self._allow_origin(call.request, response)
            if not call.request.content.is_eof():
                response.force_close()
            await response.prepare(call.request)
            await _in_time(response.write(first))
            try:
                async for chunk in chunks:
                    await _in_time(response.write(chunk))
            except GatewayError:
                raise ConnectionAbortedError from None
        return response

    def _allow_origin(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        origin = request.headers.get("Origin", "")
        if self._access.is_allowed_origin(origin):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = _EXPOSED
            response.headers["Vary"] = "Origin"

    def _status(self, call: Call, answer: replies.Answer) -> int:
        """Shortcuts may drop any status but 200; refusals by a rule or for size keep theirs all the same."""
        is_kept = answer.status == _TOO_LARGE or str(answer.data.get("code", "")).startswith("forbidden_")
        return 200 if call.route.is_voice and call.is_voice_client and not is_kept else answer.status


async def _first(chunks: AsyncGenerator[bytes, None]) -> bytes:
    """The first sound, empty where there is none."""
    try:
        return await anext(chunks, b"")
    except GatewayError:
        return b""


async def _in_time(writing: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(_WRITE_S):
            await writing
    except TimeoutError:
        raise ConnectionAbortedError from None
