"""Writes answers: as text, JSON or speech, and reports what was written whole."""

from contextlib import aclosing

from aiohttp import web

from gateway.dialog import Dialog
from gateway.doors import replies
from gateway.doors.access import Access
from gateway.doors.call import Call
from gateway.doors.protocol import PlainResponse, PlainStream
from gateway.store import Heard
from gateway.talking import Talking

# Shortcuts may drop any status but 200; these refusals keep theirs all the same.
_KEPT_CODES = frozenset({"forbidden_host", "forbidden_origin", "forbidden_funnel", "too_large", "too_long"})


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

        Raises ConnectionError where the client is gone, GatewayError where it cannot be spoken.
        """
        call.state = answer.headers.get("X-Voice-State", "-")
        if call.form == "audio" and call.is_authorised and self._talking.can_speak:
            response = await self._speak(call, answer)
        else:
            response = self.plain(call, answer)
            await response.prepare(call.request)
        if heard is None:
            await response.write_eof()
            return response
        async with self._dialog.handing_over(heard):
            await response.write_eof()
            if call.request.transport is None or call.request.transport.is_closing():
                raise ConnectionResetError
        return response

    def plain(self, call: Call, answer: replies.Answer) -> web.StreamResponse:
        """The answer as text or JSON, not yet written."""
        data, kind = replies.body(answer, call.form)
        response = PlainResponse(status=self._status(call, answer), body=data, headers=answer.headers)
        response.headers["Content-Type"] = kind
        self._allow_origin(call.request, response)
        return response

    async def _speak(self, call: Call, answer: replies.Answer) -> web.StreamResponse:
        kind = self._talking.media_type(call.request.headers.get("Accept"))
        async with aclosing(self._talking.speak(answer.say, kind)) as chunks:
            first = await anext(chunks)
            response = PlainStream(status=self._status(call, answer), headers=answer.headers)
            response.content_type = kind
            self._allow_origin(call.request, response)
            await response.prepare(call.request)
            await response.write(first)
            async for chunk in chunks:
                await response.write(chunk)
        return response

    def _allow_origin(self, request: web.Request, response: web.StreamResponse) -> None:
        origin = request.headers.get("Origin", "")
        if self._access.is_allowed_origin(origin):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = (
                "X-Voice-State, X-Voice-Session, X-Voice-Cursor"
            )
            response.headers["Vary"] = "Origin"

    def _status(self, call: Call, answer: replies.Answer) -> int:
        is_spoken = call.route.is_voice and call.is_voice_client
        return 200 if is_spoken and answer.data.get("code") not in _KEPT_CODES else answer.status
