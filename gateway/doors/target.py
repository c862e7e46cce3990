"""What a request line asks for: a path, a query, and in absolute form the host as well."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from gateway.errors import BadRequest

_ABSOLUTE = re.compile(r"https?://([^/?#]*)([^#]*)", re.IGNORECASE)
_QUERY_FIELDS = 256
_KEY_CHARS = 40


@dataclass(frozen=True, slots=True)
class Target:
    """A request target taken apart, nothing decoded. `authority` is None unless it was in absolute form."""

    authority: str | None
    path: str
    query: str

    @classmethod
    def of(cls, raw_path: str) -> "Target":
        """The parts of what stands in the request line (RFC 9112, 3.2)."""
        absolute = _ABSOLUTE.match(raw_path)
        authority, rest = (absolute[1], absolute[2]) if absolute else (None, raw_path.partition("#")[0])
        path, _, query = rest.partition("?")
        return cls(authority, path, query)

    @property
    def pieces(self) -> list[str]:
        """The segments of the path, decoded once; none for a target that is no path."""
        if self.authority is None and not self.path.startswith("/"):
            return []
        return [unquote(piece, errors="surrogateescape") for piece in self.path.split("/") if piece]

    def fields(self) -> list[tuple[str, str]]:
        """The query's fields. Raises BadRequest, see `form_fields`."""
        return form_fields(self.query)

    def loose_fields(self) -> list[tuple[str, str]]:
        """The query's fields as far as they can be made out, to find a token or the wanted format."""
        return loose_form_fields(self.query)


def form_fields(text: str) -> list[tuple[str, str]]:
    """The fields of a query or a form, decoded once.

    Raises BadRequest for a broken encoding, for more fields than any client sends, and for a key
    without a value beside `message`.
    """
    pieces = [piece for piece in text.split("&") if piece]
    if len(pieces) > _QUERY_FIELDS:
        raise BadRequest("unparsable")
    try:
        fields = parse_qsl(text, keep_blank_values=True, errors="strict")
        text.encode()
    except ValueError:
        raise BadRequest("not_utf8") from None
    strays = [piece for piece in pieces if "=" not in piece]
    if strays and any(name == "message" for name, _ in fields):
        # "fix R&D page": the message was cut at a sign that should have been encoded.
        raise BadRequest("stray_key", {"key": strays[0][:_KEY_CHARS]})
    return fields


def loose_form_fields(text: str) -> list[tuple[str, str]]:
    """The fields of a query or a form that may be broken."""
    return parse_qsl(text, keep_blank_values=True, errors="surrogateescape")
