"""Reads a request's body: fields and a recording, whatever the client called them.

Phones send JSON without a type, recordings with the wrong type, forms with a text in
them. So a recording is known by its bytes first, then JSON and forms by their type or
their shape, and what else decodes as UTF-8 is the message itself. The body is counted
while it is read, and never written anywhere.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import HttpVersion11, web

from gateway.doors.multipart import BadMultipart, Part, parts
from gateway.doors.target import form_fields, loose_form_fields
from gateway.errors import BadRequest, GatewayError, NothingUsable, TooLargeRequest
from gateway.fields import FIELDS
from voice.containers import sniff

TOKEN_BODY_LIMIT_BYTES = 64 * 1024
"""A body is read up to here to find a token in it; beyond that only with a right one."""

TEXT_LIMIT_BYTES = 1024 * 1024
"""No message of 64 KiB needs more than this, however it is escaped; recordings may."""

_SNIFF_BYTES = 4096
_RECORDING_PARTS = ("audio", "file")
_FORM = "application/x-www-form-urlencoded"
_OPEN_TYPES = ("", "application/octet-stream", _FORM)
_SOUND_TYPES = ("audio/", "video/")
_NOT_IN_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Body:
    """What a body held: field texts in order, the bytes of a recording, and what is wrong with it.

    The fields of a body with a problem are those that could be made out: a token among them counts,
    so that who may come in hears what is wrong, and nobody else does.
    """

    fields: tuple[tuple[str, str], ...] = ()
    recording: bytes | None = None
    problem: GatewayError | None = None


class BodyReader:
    """Reads one request's body, once, in one or two goes, up to one deadline."""

    def __init__(self, request: web.BaseRequest, limit_bytes: int, timeout_s: float) -> None:
        self._request = request
        self._limit_bytes = limit_bytes
        self._deadline = asyncio.get_running_loop().time() + timeout_s
        self._chunks: list[bytes] = []
        self._has_begun = False
        self._is_whole = not request.can_read_body
        self.read_bytes = 0
        """How much was taken from the connection."""

    async def start(self) -> bytes | None:
        """The body if it is whole within the limit for tokens, else None. Raises like `whole`."""
        if self._is_declared_over(TOKEN_BODY_LIMIT_BYTES):
            return None
        await self._read(TOKEN_BODY_LIMIT_BYTES)
        is_whole = self._is_whole and self.read_bytes <= TOKEN_BODY_LIMIT_BYTES
        return self._data() if is_whole else None

    async def whole(self) -> bytes:
        """All of the body. Raises TooLargeRequest over the limit, BadRequest where it comes too slowly."""
        if self._is_declared_over(self._limit_bytes):
            raise self._too_large()
        await self._read(self._limit_bytes)
        if not self._is_whole or self.read_bytes > self._limit_bytes:
            raise self._too_large()
        return self._data()

    def _is_declared_over(self, limit_bytes: int) -> bool:
        length = self._request.content_length
        return length is not None and length > limit_bytes

    async def _read(self, limit_bytes: int) -> None:
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._invite()
                while not self._is_whole and self.read_bytes <= limit_bytes:
                    chunk = await self._request.content.read(limit_bytes + 1 - self.read_bytes)
                    self._chunks.append(chunk)
                    self.read_bytes += len(chunk)
                    self._is_whole = not chunk or self._request.content.at_eof()
        except TimeoutError:
            raise BadRequest("too_slow") from None
        except web.RequestPayloadError:
            raise BadRequest("unparsable") from None

    async def _invite(self) -> None:
        """Tell a client that waits with its body to send it: only now is it known to be wanted."""
        request = self._request
        is_asked = request.headers.get("Expect", "").casefold() == "100-continue"
        if is_asked and not self._has_begun and not self._is_whole and request.version >= HttpVersion11:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # aiohttp takes what was written for the begin of the response otherwise.
            request.writer.output_size = 0
        self._has_begun = True

    def _data(self) -> bytes:
        if len(self._chunks) > 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0] if self._chunks else b""

    def _too_large(self) -> TooLargeRequest:
        limit_mb = round(self._limit_bytes / (1024 * 1024), 1)
        return TooLargeRequest("too_large", {"limit_mb": f"{limit_mb:g}"})


def parse(data: bytes, content_type: str) -> Body:
    """What this body holds. Never raises: what is wrong is the body's `problem`."""
    kind = content_type.partition(";")[0].strip().casefold()
    try:
        if data and sniff(data[:_SNIFF_BYTES]) is not None:
            return Body(recording=data)
        if kind.startswith(_SOUND_TYPES):
            return Body(problem=NothingUsable("unreadable"))
        if not data.strip():
            return Body()
        if kind.startswith("multipart/"):
            return _multipart(data, content_type)
        return _words(data, kind)
    except GatewayError as problem:
        return Body(problem=problem)


def _words(data: bytes, kind: str) -> Body:
    """A body that is text of some kind."""
    if kind in _OPEN_TYPES and _NOT_IN_TEXT.search(data[:_SNIFF_BYTES]):
        raise NothingUsable("unreadable")
    text = _text(data)
    is_json = kind == "application/json" or kind.endswith("+json")
    if is_json or kind in _OPEN_TYPES:
        pairs = _pairs(text)
        if pairs is not None and (is_json or any(name in ("message", "session") for name, _ in pairs)):
            return _of_pairs(pairs)
        if is_json:
            raise BadRequest("bad_field", {"field": "body", "expected": "a JSON object"})
    if kind == _FORM and "=" in text:
        found = tuple(loose_form_fields(text.strip()))
        if any(name in FIELDS for name, _ in found):
            return _form(text.strip(), found)
    return Body(fields=(("message", text),))


def _form(text: str, found: tuple[tuple[str, str], ...]) -> Body:
    try:
        return Body(fields=tuple(form_fields(text)))
    except BadRequest as problem:
        return Body(fields=found, problem=problem)


def _text(data: bytes) -> str:
    if len(data) > TEXT_LIMIT_BYTES:
        raise TooLargeRequest("message_too_long")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest("not_utf8") from None


def _pairs(text: str) -> Sequence[tuple[str, object]] | None:
    """The members of a JSON object, doubles included; None for anything else.

    Numbers stay as they were written: an id of twenty digits must not become a float.
    Line breaks in a string are let pass, since shortcuts put dictated text into JSON as it is.
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=tuple, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, tuple) else None


def _of_pairs(pairs: Sequence[tuple[str, object]]) -> Body:
    fields: list[tuple[str, str]] = []
    problem: GatewayError | None = None
    for name, value in pairs:
        if name not in FIELDS or value is None:
            continue
        try:
            fields.append((name, _field_text(name, value)))
        except BadRequest as error:
            problem = problem or error
    return Body(tuple(fields), problem=problem)


def _field_text(name: str, value: object) -> str:
    """A member's value as text: a switch may be true or false, everything may be a number."""
    field = FIELDS[name]
    if isinstance(value, bool) and field.is_switch:
        return "1" if value else "0"
    if not isinstance(value, str):
        raise BadRequest("bad_field", {"field": name, "expected": field.expected})
    try:
        value.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair cannot be sent on unchanged.
        raise BadRequest("bad_field", {"field": name, "expected": "whole characters"}) from None
    return value


def _multipart(data: bytes, content_type: str) -> Body:
    try:
        found = parts(data, content_type)
    except BadMultipart:
        raise BadRequest("unparsable") from None
    fields: list[tuple[str, str]] = []
    problem: GatewayError | None = None
    recording: Part | None = None
    try:
        recording = _recording(found)
    except GatewayError as error:
        problem = error
    for part in found:
        if part is recording or part.name not in FIELDS:
            continue
        try:
            fields.append((part.name, _text(part.data)))
        except GatewayError as error:
            problem = problem or error
    return Body(tuple(fields), None if recording is None else recording.data, problem)


def _recording(found: Sequence[Part]) -> Part | None:
    """The part named audio or file, else the only one whose bytes are a recording.

    Raises NothingUsable where a part that should be one is none, BadRequest where it cannot be
    told which one is meant.
    """
    named = [part for part in found if part.name.casefold() in _RECORDING_PARTS]
    given = [part for part in named if part.data]
    sounds = given or [part for part in found if _is_sound(part)]
    if len({part.data for part in sounds}) > 1:
        raise BadRequest("duplicate_field", {"field": sounds[0].name or "audio"})
    if sounds and _is_sound(sounds[0]):
        return sounds[0]
    has_words = any(part.name == "message" and part.data.strip() for part in found)
    is_declared = any(part.kind.startswith(_SOUND_TYPES) and part.data for part in found)
    # A page's form has an empty part for a file that was not chosen; beside words it means nothing.
    if given or is_declared or (named and not has_words):
        raise NothingUsable("unreadable")
    return None


def _is_sound(part: Part) -> bool:
    return bool(part.data) and sniff(part.data[:_SNIFF_BYTES]) is not None
