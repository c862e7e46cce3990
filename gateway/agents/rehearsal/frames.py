"""What comes in over the inbox, one JSON line at a time, as values; what means nothing is None.

Rules of CLI 2.1.332, observed: `content` must be a non-empty string, a `msg_id` without UUID
form is forgotten while its message counts, a `from` that does not start with `uds:` is nobody's,
an unknown priority is the default one. A line that is no such frame is ignored.
"""

import json
import re
from dataclasses import dataclass
from enum import StrEnum

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ENVELOPE = re.compile(
    r"<cross-session-message(?P<attributes>[^>]*)>\n(?P<body>.*)\n</cross-session-message>\s*", re.DOTALL
)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_SCHEME = "uds:"
# No path holds a NUL or half a surrogate pair, and none to a socket is this long.
_ADDRESS = re.compile(rf"{_SCHEME}[^\0\ud800-\udfff]{{1,1024}}", re.DOTALL)


class Priority(StrEnum):
    """When a message may reach the model."""

    NEXT = "next"
    LATER = "later"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class Auth:
    """A token by which the sender shows that it can read the session's key."""

    token: str


@dataclass(frozen=True, slots=True)
class UserFrame:
    """A message for the session; `sender` is the address for receipts, with its scheme."""

    content: str
    msg_id: str | None
    sender: str | None
    priority: Priority


@dataclass(frozen=True, slots=True)
class Rename:
    """Give the session this name."""

    name: str


@dataclass(frozen=True, slots=True)
class NotifyWhenIdle:
    """Tell `sender` once when the session is next idle."""

    msg_id: str
    sender: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """The tag the CLI's own messages come in. `body` is kept as it stands, escapes included."""

    name: str | None
    mode: str | None
    body: str


Frame = Auth | UserFrame | Rename | NotifyWhenIdle


def parse(line: bytes) -> Frame | None:
    """Read one line. Bytes that are not UTF-8 become U+FFFD, as the CLI's runtime reads them."""
    try:
        value = json.loads(line.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    match value.get("type"):
        case "auth":
            token = value.get("token")
            return Auth(token) if isinstance(token, str) else None
        case "user":
            return _user(value)
        case "control":
            return _control(value)
    return None


def socket_of(sender: str) -> str:
    """The path in an address."""
    return sender.removeprefix(_SCHEME)


def unwrap(content: str) -> Envelope | None:
    """Take the CLI's envelope off, or None where there is none."""
    match = _ENVELOPE.fullmatch(content)
    if match is None:
        return None
    attributes = dict(_ATTRIBUTE.findall(match["attributes"]))
    return Envelope(attributes.get("from-name"), attributes.get("from-mode"), match["body"])


def _user(value: dict[str, object]) -> UserFrame | None:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str) or not content:
        return None
    return UserFrame(content, _msg_id(value), _sender(value), _priority(value))


def _control(value: dict[str, object]) -> Rename | NotifyWhenIdle | None:
    match value.get("action"):
        case "rename":
            name = value.get("name")
            return Rename(name) if isinstance(name, str) and name.strip() else None
        case "notify_when_idle":
            msg_id, sender = _msg_id(value), _sender(value)
            return NotifyWhenIdle(msg_id, sender) if msg_id and sender else None
    return None


def _priority(value: dict[str, object]) -> Priority:
    named = value.get("priority")
    return next((priority for priority in Priority if priority.value == named), Priority.NEXT)


def _msg_id(value: dict[str, object]) -> str | None:
    msg_id = value.get("msg_id")
    return msg_id if isinstance(msg_id, str) and _UUID.fullmatch(msg_id) else None


def _sender(value: dict[str, object]) -> str | None:
    sender = value.get("from")
    return sender if isinstance(sender, str) and _ADDRESS.fullmatch(sender) else None
