"""The fields of a request, as one table: what the code reads, the checks try and the description says.

Fields come from the query, a JSON object, a form or a multipart body, under the same
names. Unknown ones are ignored; one field twice with different values is refused.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gateway.errors import BadRequest

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_CLIENT_CHARS = 64
_ID_CHARS = 200
_GROUPING = frozenset("0123456789,.'_ \u00a0\u2009\u202f\u2019")

Value = str | bool | float


@dataclass(frozen=True, slots=True)
class Field:
    """One field: how its text is read (raising ValueError), what is expected of it, and its header."""

    name: str
    read: Callable[[str], Value]
    expected: str
    meaning: str
    header: str = ""

    @property
    def is_switch(self) -> bool:
        """It is on or off."""
        return self.read is _flag


def _text(text: str) -> str:
    return text


def _flag(text: str) -> bool:
    word = text.strip().casefold()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError


def _seconds(text: str) -> float:
    seconds = float(text.strip())
    if not math.isfinite(seconds) or "_" in text:
        raise ValueError
    return seconds


def _format(text: str) -> str:
    word = text.strip().casefold()
    if word not in ("text", "json", "audio"):
        raise ValueError
    return word


def _client(text: str) -> str:
    name = text.strip()
    if not name or len(name) > _CLIENT_CHARS or not name.isprintable():
        raise ValueError
    return name


def _id(text: str) -> str:
    """An id of digits and grouping marks is compared by its digits: a phone may write 123,456."""
    name = text.strip()
    if _GROUPING.issuperset(name):
        name = "".join(char for char in name if char.isdigit())
    if not name or len(name) > _ID_CHARS or not name.isprintable():
        raise ValueError
    return name


FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        Field("client", _client, "a short name", "names this client", "X-Codriver-Client"),
        Field("session", _text, "text", "session name as spoken, alias, id, id prefix or pid"),
        Field("message", _text, "text", "the words, delivered verbatim"),
        Field("wait", _seconds, "a number of seconds", "seconds to wait for an answer"),
        Field(
            "id", _id, "a short text", "idempotency key, or the ask whose reply is wanted", "Idempotency-Key"
        ),
        Field("join", _flag, "zero or one", "0 switches off the joining of same words"),
        Field("since", _text, "a cursor", "explicit cursor of clients that keep their own"),
        Field("expect_id", _text, "a session id", "refuse if the name now belongs to another session"),
        Field("format", _format, "text, json or audio", "how the reply comes"),
        Field("literal", _flag, "zero or one", "1 switches spoken commands off"),
        Field("plain_questions", _flag, "zero or one", "ask the session for plain text questions"),
        Field("relay_discipline", _flag, "zero or one", "ask the session for a short final message"),
        Field("all", _flag, "zero or one", "list sessions that cannot be driven too"),
        Field("delay", _seconds, "a number of seconds", "answer a ping that much later"),
        Field("token", _text, "text", "the token, where no header can be set"),
    )
}
"""Every field that is read now. Those of later releases are ignored like unknown ones."""

_NOT_TOLD_APART = frozenset({"token"})
"""Fields of which any may be right, so that two do not contradict each other."""


class Fields:
    """The fields of one request, read and checked."""

    def __init__(self, given: Iterable[tuple[str, str]]) -> None:
        """Raises BadRequest for a value that cannot be read, or two that differ. Empty is absent."""
        self._values: dict[str, Value] = {}
        found: dict[str, Value] = {}
        for name, text in given:
            field = FIELDS.get(name)
            if field is None or name in _NOT_TOLD_APART:
                continue
            value = _read(field, text) if text.strip() else text
            if found.setdefault(name, value) != value:
                raise BadRequest("duplicate_field", {"field": name})
        for name, value in found.items():
            if name == "message" or not isinstance(value, str) or value.strip():
                self._values[name] = value

    def text(self, name: str, default: str = "") -> str:
        """A text field."""
        value = self._values.get(name, default)
        return value if isinstance(value, str) else default

    def optional(self, name: str) -> str | None:
        """A text field, None where it is absent."""
        value = self._values.get(name)
        return value if isinstance(value, str) and value else None

    def flag(self, name: str, default: bool) -> bool:
        """A switch."""
        value = self._values.get(name, default)
        return value if isinstance(value, bool) else default

    def number(self, name: str, default: float) -> float:
        """A number."""
        value = self._values.get(name, default)
        return value if isinstance(value, float) else default


def _read(field: Field, text: str) -> Value:
    try:
        return field.read(text)
    except ValueError:
        raise BadRequest("bad_field", {"field": field.name, "expected": field.expected}) from None
