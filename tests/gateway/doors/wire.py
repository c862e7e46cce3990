"""A client that says exactly the bytes it is told to, and reads what comes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True)
class Response:
    """What came back. `headers` has lower-case names; `raw` is every byte of it."""

    status: int
    headers: dict[str, list[str]]
    body: bytes
    raw: bytes = field(repr=False, default=b"")

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.body)
        return data

    def header(self, name: str) -> str | None:
        values = self.headers.get(name.lower(), [])
        assert len(values) <= 1, f"{name} came more than once"
        return values[0] if values else None

    def decoded(self, name: str) -> str:
        return unquote(self.header(name) or "", errors="strict")


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def response(self, *, has_body: bool = True) -> Response:
        """The next response; interim ones are kept apart by their status."""
        head = await _soon(self.reader.readuntil(b"\r\n\r\n"))
        status_line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        headers: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers.setdefault(name.lower(), []).append(value.strip())
        status = int(status_line.split(" ")[1])
        body = b""
        if has_body and status not in (100, 204, 304):
            body = await self._body(headers)
        return Response(status, headers, body, head + body)

    async def _body(self, headers: dict[str, list[str]]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", []):
            body = b""
            while size := int(await _soon(self.reader.readuntil(b"\r\n")), 16):
                body += await _soon(self.reader.readexactly(size))
                assert await _soon(self.reader.readexactly(2)) == b"\r\n"
            assert await _soon(self.reader.readexactly(2)) == b"\r\n"
            return body
        if "content-length" in headers:
            return await _soon(self.reader.readexactly(int(headers["content-length"][0])))
        return await _soon(self.reader.read())

    async def rest(self) -> bytes:
        """Everything until the other side closes; a reset counts as closing."""
        try:
            return await _soon(self.reader.read())
        except ConnectionError:
            return b""

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()

    def abort(self) -> None:
        """Be gone at once, like a phone in a tunnel whose network notices."""
        self.writer.transport.abort()


async def _soon(reading: Any) -> Any:
    """No test waits for ever."""
    return await asyncio.wait_for(reading, 20)


@asynccontextmanager
async def connected(port: int, host: str = "127.0.0.1") -> AsyncIterator[Wire]:
    wire = Wire(*await asyncio.open_connection(host, port))
    try:
        yield wire
    finally:
        await wire.close()


def request(
    method: str,
    target: str,
    body: bytes | str | None = None,
    *,
    token: str = "",
    headers: dict[str, str | bytes] | None = None,
    host: str = "127.0.0.1",
) -> bytes:
    """A request as bytes; header values may be any bytes."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"{method} {target} HTTP/1.1".encode("utf-8", "surrogateescape")]
    fields: dict[str, str | bytes] = {"Host": host} if host else {}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    if data is not None:
        fields["Content-Length"] = str(len(data))
    for name, value in {**fields, **(headers or {})}.items():
        lines.append(name.encode() + b": " + (value.encode() if isinstance(value, str) else value))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (data or b"")


async def said(port: int, data: bytes, *, has_body: bool = True) -> Response:
    """The response to these bytes on a connection of their own."""
    async with connected(port) as wire:
        await wire.send(data)
        return await wire.response(has_body=has_body)
