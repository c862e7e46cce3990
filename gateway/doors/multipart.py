"""Takes a multipart body apart (RFC 2046, 7578), in memory and in one pass.

aiohttp's own reader goes through a recording line by line on the event loop, and warns about
odd file names with the names in the warning. Nothing but a part's field name and type is
needed here: file names are never looked at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

_PARTS = 64
_HEADER_LIMIT_BYTES = 16 * 1024
_BOUNDARY_CHARS = 200
_PARAMETER = re.compile(r""";\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*("(?:\\.|[^"\\])*"|[^;]*)""")
_AFTER_BOUNDARY = re.compile(rb"(--)?[ \t]*(?:\r?\n|\Z)")
_HEADER_END = re.compile(rb"\r?\n\r?\n")


class BadMultipart(ValueError):
    """The body is not what its type says."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One part: the name of its field, its declared type in lower case, and its bytes."""

    name: str
    kind: str
    data: bytes


def parts(data: bytes, content_type: str) -> list[Part]:
    """The parts in order. Raises BadMultipart where a boundary is missing or there are too many."""
    boundary = parameter(content_type, "boundary")
    if not boundary or len(boundary) > _BOUNDARY_CHARS:
        raise BadMultipart
    delimiter = f"--{boundary}".encode("utf-8", "surrogateescape")
    found = [_part(data[start:end]) for start, end in _spans(data, delimiter)]
    if not found:
        raise BadMultipart
    return found


def parameter(header: str, name: str) -> str:
    """A parameter of a header, "" where it is absent; the extended form (`name*`) counts as well."""
    for match in _PARAMETER.finditer(header):
        key, value = match[1].casefold(), match[2].strip()
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        if key == name:
            return value
        if key == f"{name}*":
            return unquote(value.rpartition("'")[2], errors="replace")
    return ""


def _spans(data: bytes, boundary: bytes) -> Iterator[tuple[int, int]]:
    """Where each part begins and ends. The last boundary must be there, or the body was cut off."""
    begins: int | None = None
    count, position = 0, 0
    while (at := data.find(boundary, position)) >= 0:
        position = at + len(boundary)
        after = _AFTER_BOUNDARY.match(data, position)
        if after is None or (at > 0 and data[at - 1 : at] != b"\n"):
            continue
        if begins is not None:
            count += 1
            yield begins, max(begins, _line_end(data, at))
        if after[1]:
            return
        if count == _PARTS:
            break
        begins = after.end()
    raise BadMultipart


def _line_end(data: bytes, at: int) -> int:
    """Where the line before a boundary ends: its line break belongs to the boundary."""
    return at - 2 if data[at - 2 : at] == b"\r\n" else at - 1


def _part(data: bytes) -> Part:
    head, body = b"", data
    if data.startswith((b"\r\n", b"\n")):
        body = data[data.index(b"\n") + 1 :]
    elif (end := _HEADER_END.search(data, 0, _HEADER_LIMIT_BYTES)) is not None:
        head, body = data[: end.start()], data[end.end() :]
    elif len(data) <= _HEADER_LIMIT_BYTES:
        head, body = data, b""
    else:
        raise BadMultipart
    headers = dict(_headers(head.decode("utf-8", "replace")))
    return Part(
        name=parameter(headers.get("content-disposition", ""), "name"),
        kind=headers.get("content-type", "").partition(";")[0].strip().casefold(),
        data=body,
    )


def _headers(text: str) -> Iterator[tuple[str, str]]:
    for line in re.sub(r"\r?\n[ \t]+", " ", text).splitlines():
        name, _, value = line.partition(":")
        yield name.strip().casefold(), value.strip()
