"""Reads a request's body: fields and a recording, whatever the client called them.

Phones send JSON without a type, recordings with the wrong type, forms with a text in
them. So a recording is known by its bytes first, then JSON and forms by their type or
their shape, and what else decodes as UTF-8 is the message itself. The body is counted
while it is read, and never written anywhere.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, MultipartReader, StreamReader, web
from aiohttp.base_protocol import BaseProtocol

from gateway.errors import BadRequest, NothingUsable, TooLargeRequest
from gateway.fields import FIELDS
from voice.containers import sniff

TOKEN_BODY_LIMIT_BYTES = 64 * 1024
"""A body is read up to here to find a token in it; beyond that only with a right one."""

_SNIFF_BYTES = 4096
_PARTS = 64
_TEXT_PART_LIMIT_BYTES = 256 * 1024
_RECORDING_PARTS = ("audio", "file")
_OPEN_TYPES = ("", "application/octet-stream", "application/x-www-form-urlencoded")


@dataclass(frozen=True, slots=True)
class Body:
    """What a body held: field texts in order, and the bytes of a recording."""

    fields: tuple[tuple[str, str], ...] = ()
    recording: bytes | None = None


class BodyReader:
    """Reads one request's body, once, in one or two goes."""

    def __init__(self, request: web.BaseRequest, limit_bytes: int, timeout_s: float) -> None:
        self._request = request
        self._limit_bytes = limit_bytes
        self._timeout_s = timeout_s
        self._data = bytearray()
        self._is_whole = not request.can_read_body

    async def start(self) -> bytes | None:
        """The body if it is whole within the limit for tokens, else None."""
        if self._is_declared_over(TOKEN_BODY_LIMIT_BYTES):
            return None
        await self._read(TOKEN_BODY_LIMIT_BYTES)
        return bytes(self._data) if self._is_whole else None

    async def whole(self) -> bytes:
        """All of the body. Raises TooLargeRequest over the limit, BadRequest where it comes too slowly."""
        if self._is_declared_over(self._limit_bytes):
            raise self._too_large()
        await self._read(self._limit_bytes)
        if not self._is_whole:
            raise self._too_large()
        return bytes(self._data)

    def _is_declared_over(self, limit_bytes: int) -> bool:
        length = self._request.content_length
        return length is not None and length > limit_bytes

    async def _read(self, limit_bytes: int) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                while not self._is_whole and len(self._data) <= limit_bytes:
                    chunk = await self._request.content.readany()
                    self._data += chunk
                    self._is_whole = not chunk or self._request.content.is_eof()
        except TimeoutError:
            raise BadRequest("too_slow") from None
        except web.RequestPayloadError:
            raise BadRequest("unparsable") from None
        if len(self._data) > limit_bytes:
            self._is_whole = False

    def _too_large(self) -> TooLargeRequest:
        return TooLargeRequest("too_large", {"limit_mb": f"{self._limit_bytes // (1024 * 1024)}"})


def query_fields(raw_path: str) -> list[tuple[str, str]]:
    """The query's fields, decoded once. Raises BadRequest for a broken encoding or a stray key."""
    return form_fields(raw_path.partition("?")[2].partition("#")[0])


def form_fields(text: str) -> list[tuple[str, str]]:
    """The fields of a query or a form."""
    pieces = [piece for piece in text.split("&") if piece]
    try:
        fields = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=256)
    except ValueError:
        raise BadRequest("not_utf8") from None
    strays = [piece for piece in pieces if "=" not in piece]
    if strays and any(name == "message" for name, _ in fields):
        # "fix R&D page": the message was cut at a sign that should have been encoded.
        raise BadRequest("stray_key", {"key": strays[0][:40]})
    return fields


async def parse(data: bytes, content_type: str) -> Body:
    """What this body holds. Raises BadRequest or NothingUsable."""
    kind = content_type.partition(";")[0].strip().casefold()
    if kind.startswith("multipart/"):
        return await _multipart(data, content_type)
    if data and sniff(data[:_SNIFF_BYTES]) is not None:
        return Body(recording=data)
    if kind.startswith(("audio/", "video/")):
        raise NothingUsable("unreadable")
    if not data.strip():
        return Body()
    if kind == "application/json" or kind.endswith("+json"):
        return Body(fields=_json(_text(data)))
    if kind in _OPEN_TYPES:
        return _open(data, kind)
    return Body(fields=(("message", _text(data)),))


def _open(data: bytes, kind: str) -> Body:
    """A body whose type says little."""
    try:
        text = _text(data)
    except BadRequest:
        raise NothingUsable("unreadable") from None
    found = _object(text)
    if found is not None and ("message" in found or "session" in found):
        return Body(fields=_object_fields(found))
    if kind == "application/x-www-form-urlencoded" and "=" in text:
        fields = form_fields(text.strip())
        if any(name in FIELDS for name, _ in fields):
            return Body(fields=tuple(fields))
    return Body(fields=(("message", text),))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest("not_utf8") from None


def _object(text: str) -> dict[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        # Numbers stay as they were written: an id of twenty digits must not become a float.
        found = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _json(text: str) -> tuple[tuple[str, str], ...]:
    found = _object(text)
    if found is None:
        raise BadRequest("bad_field", {"field": "body", "expected": "a JSON object"})
    return _object_fields(found)


def _object_fields(found: dict[str, object]) -> tuple[tuple[str, str], ...]:
    fields: list[tuple[str, str]] = []
    for name, value in found.items():
        if name not in FIELDS or value is None:
            continue
        if isinstance(value, bool):
            fields.append((name, "1" if value else "0"))
        elif isinstance(value, str):
            fields.append((name, _whole_characters(name, value)))
        else:
            raise BadRequest("bad_field", {"field": name, "expected": FIELDS[name].expected})
    return tuple(fields)


def _whole_characters(name: str, value: str) -> str:
    """Half of a surrogate pair cannot be sent on unchanged, so it is refused."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRequest("bad_field", {"field": name, "expected": "whole characters"}) from None
    return value


async def _multipart(data: bytes, content_type: str) -> Body:
    try:
        parts = await _parts(data, content_type)
    except (ValueError, RuntimeError, AssertionError, EOFError, LookupError):
        raise BadRequest("unparsable") from None
    recording = _recording(parts)
    fields = [
        (part.name, _text(part.data))
        for part in parts
        if part is not recording and part.name in FIELDS and len(part.data) <= _TEXT_PART_LIMIT_BYTES
    ]
    return Body(tuple(fields), None if recording is None else recording.data)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    name: str
    data: bytes


async def _parts(data: bytes, content_type: str) -> list[_Part]:
    loop = asyncio.get_running_loop()
    stream = StreamReader(BaseProtocol(loop), limit=2**16, loop=loop)
    stream.feed_data(data)
    stream.feed_eof()
    reader = MultipartReader({"Content-Type": content_type}, stream)
    found: list[_Part] = []
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader) or len(found) >= _PARTS:
            raise ValueError("nested or too many parts")
        found.append(_Part(part.name or "", bytes(await part.read(decode=False))))
    return found


def _recording(parts: Sequence[_Part]) -> _Part | None:
    """The part named audio or file, else the only one whose bytes are a recording."""
    named = [part for part in parts if part.name.casefold() in _RECORDING_PARTS]
    if named:
        if not named[0].data or sniff(named[0].data[:_SNIFF_BYTES]) is None:
            raise NothingUsable("unreadable")
        return named[0]
    sniffed = [part for part in parts if part.data and sniff(part.data[:_SNIFF_BYTES]) is not None]
    return sniffed[0] if len(sniffed) == 1 else None
