"""One line of a Claude Code transcript → the entries in it that matter, often none.

Source of the format: black-box observation of CLI 2.1.332. Whatever is unknown,
malformed or book-keeping is nothing: it loses no neighbour and raises nothing.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from gateway import notes
from gateway.agents.turns import Prompt, PromptKind, Text, ToolUse

_DECODER = json.JSONDecoder()
_BOM = b"\xef\xbb\xbf"
# How a record may begin where a killed process left half of another one before it on the line.
_BEGINNINGS = ('{"type"', '{"parentUuid"', '{"uuid"', '{"sessionId"')
_RECOVERY_TRIES = 16
_INTERRUPTED = "[Request interrupted by user"
_NOTIFICATION = "<task-notification>"
_LOCAL = ("<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>")


@dataclass(frozen=True, slots=True)
class ToolsDone:
    """Results for these tool calls."""

    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class TurnOver:
    """The turn's last line; background agents may still be at work."""

    agents_pending: bool


@dataclass(frozen=True, slots=True)
class ApiFailure:
    """The model service failed: `kind` is the CLI's own word for it. Not an answer."""

    kind: str
    is_cut: bool
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class Interruption:
    """Somebody stopped the turn."""

    record_id: str = ""


@dataclass(frozen=True, slots=True)
class LocalCommand:
    """A command of the CLI's own was typed; an answer that follows is not the one before."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A message entered the session's queue."""

    nonces: frozenset[str]


@dataclass(frozen=True, slots=True)
class Activity:
    """Something happened in the turn that has no words for us (thinking)."""


@dataclass(frozen=True, slots=True)
class Title:
    """The session got a title."""

    title: str


Item = (
    Prompt
    | Text
    | ToolUse
    | ToolsDone
    | TurnOver
    | ApiFailure
    | Interruption
    | LocalCommand
    | Queued
    | Activity
    | Title
)


def parse(line: bytes, start: int, end: int) -> tuple[Item, ...]:
    """The entries of one line that stands at bytes `start`–`end`; none for what does not matter."""
    line = line.removeprefix(_BOM).strip(b"\x00 \t\r\n")
    if b"{" not in line:
        return ()
    return tuple(item for record in _records(line) for item in _items(record, start, end))


def _records(line: bytes) -> Iterator[dict[str, object]]:
    """The record on a line; where a killed process left torn ones, those that are whole."""
    text, at = line.decode("utf-8", "replace"), 0
    for _ in range(_RECOVERY_TRIES):
        record, after = _whole(text, at)
        if record is not None:
            yield record
        at = after if text.startswith("{", after) else _next_beginning(text, after)
        if at < 0:
            return


def _whole(text: str, at: int) -> tuple[dict[str, object] | None, int]:
    """The record that begins here, and where to look on; None where it is torn."""
    try:
        record, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at + 1
    end += len(text[end:]) - len(text[end:].lstrip("\x00 \t\r")) if end < len(text) else 0
    # What stands inside a torn record is followed by the rest of that one.
    is_whole = end == len(text) or text[end] == "{"
    return (record, end) if is_whole and isinstance(record, dict) else (None, at + 1)


def _next_beginning(text: str, at: int) -> int:
    found = [place for mark in _BEGINNINGS if (place := text.find(mark, at)) >= 0]
    return min(found, default=-1)


def _items(record: dict[str, object], start: int, end: int) -> tuple[Item, ...]:
    if record.get("isSidechain") is True:
        return ()
    kind = record.get("type")
    if kind == "assistant":
        return _assistant(record, start, end)
    if kind == "user":
        return _user(record, start)
    if kind == "attachment":
        return _attachment(record, start)
    single = _single(record)
    return () if single is None else (single,)


def clean(value: object) -> str:
    """A string without the lone surrogates that JSON can carry and UTF-8 cannot; "" for anything else."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")


def _single(record: dict[str, object]) -> Item | None:
    kind = record.get("type")
    if kind == "system" and record.get("subtype") == "turn_duration":
        pending = record.get("pendingBackgroundAgentCount")
        return TurnOver(agents_pending=isinstance(pending, int) and pending > 0)
    if kind == "queue-operation" and record.get("operation") == "enqueue":
        return Queued(nonces=notes.nonces_in(clean(record.get("content"))))
    if kind == "custom-title":
        return Title(clean(record.get("customTitle")))
    return None


def _assistant(record: dict[str, object], start: int, end: int) -> tuple[Item, ...]:
    message = record.get("message")
    if not isinstance(message, dict):
        return ()
    if record.get("isApiErrorMessage") is True:
        is_cut = record.get("truncatedAfterOutput") is True
        return (ApiFailure(_failure_kind(record, message), is_cut, clean(record.get("uuid"))),)
    items: list[Item] = []
    for block in _blocks(message.get("content")):
        match block.get("type"):
            case "text":
                items.append(
                    Text(
                        start=start,
                        end=end,
                        text=clean(block.get("text")),
                        record_id=clean(record.get("uuid")),
                        message_id=clean(message.get("id")),
                        stop_reason=clean(message.get("stop_reason")),
                        is_aborted=record.get("isAbortedMidStream") is True,
                    )
                )
            case "tool_use":
                given = block.get("input")
                items.append(
                    ToolUse(
                        id=clean(block.get("id")),
                        name=clean(block.get("name")),
                        input=given if isinstance(given, dict) else {},
                    )
                )
            case _:
                items.append(Activity())
    return tuple(items)


def _failure_kind(record: dict[str, object], message: dict[str, object]) -> str:
    """One of overloaded, authentication, full, or the CLI's own word."""
    words = " ".join(
        [clean(record.get(key)) for key in ("error", "apiErrorType")]
        + [clean(block.get("text")) for block in _blocks(message.get("content"))]
        + [str(record.get("apiErrorStatus") or "")]
    ).lower()
    if "overloaded" in words or "529" in words:
        return "overloaded"
    if "rate_limit" in words or "429" in words:
        return "rate_limit"
    if "authentication" in words or "401" in words or "login" in words:
        return "authentication"
    if "prompt is too long" in words:
        return "full"
    return clean(record.get("error")) or "unknown"


def _user(record: dict[str, object], start: int) -> tuple[Item, ...]:
    message = record.get("message")
    if not isinstance(message, dict) or record.get("isCompactSummary") is True:
        return ()
    blocks = _blocks(message.get("content"))
    text = "\n".join(clean(block.get("text")) for block in blocks if block.get("type") == "text")
    interruption = (Interruption(clean(record.get("uuid"))),) if text.startswith(_INTERRUPTED) else ()
    done = frozenset(
        clean(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"
    )
    if done or interruption:
        return (*((ToolsDone(done),) if done else ()), *interruption)
    # A damaged record without content is no prompt: it would end the turn before it.
    prompt = _prompt(record, text, start) if blocks else None
    return () if prompt is None else (prompt,)


def _prompt(record: dict[str, object], text: str, start: int) -> Prompt | LocalCommand | None:
    """A user line as a prompt; None for the CLI's own notes to itself."""
    origin = record.get("origin")
    origin = origin if isinstance(origin, dict) else {}
    record_id = clean(record.get("uuid"))
    if text.startswith(_NOTIFICATION):
        return Prompt(PromptKind.BACKGROUND, start, record_id=record_id)
    nonces = notes.nonces_in(text)
    if origin.get("kind") == "peer":
        body = clean(origin.get("body")) or text
        return Prompt(PromptKind.PEER, start, body, clean(origin.get("msg_id")), nonces, record_id)
    if text.startswith(_LOCAL) or record.get("rowSource") == "local":
        return LocalCommand()
    if record.get("isMeta") is True and not nonces:
        return None
    return Prompt(PromptKind.HUMAN, start, text, nonces=nonces, record_id=record_id)


def _attachment(record: dict[str, object], start: int) -> tuple[Item, ...]:
    attachment = record.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return ()
    origin = attachment.get("origin")
    message_id = clean(origin.get("msg_id")) if isinstance(origin, dict) else ""
    given = attachment.get("prompt")
    text = (
        clean(given)
        if isinstance(given, str)
        else "\n".join(clean(block.get("text")) for block in _blocks(given))
    )
    nonces = notes.nonces_in(text)
    return (Prompt(PromptKind.ABSORBED, start, text, message_id, nonces, clean(record.get("uuid"))),)


def _blocks(content: object) -> list[dict[str, object]]:
    """Content as a list of blocks; a plain string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]
