"""Every sentence that Codriver speaks in its own name, from `config/phrases/<language>.yaml`.

`TABLE` says which phrases there are and which fields each must use; a file that has another key,
lacks one, or uses other fields is refused as a whole (`BadPhrases`), so no sentence can be missing
on the road. A new phrase is one line here and one in each file.

The one thing that is not in a file is `MARKER`. Clients poll for as long as they hear it, so it
stands in every `working` sentence and in no other: a file that holds it is refused, and whatever
else is spoken goes through `guard_marker`.
"""

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from gateway import resources
from gateway.yaml_mapping import BadYaml, Entry, first_of_each, read
from voice.notices import PLACEHOLDERS, Notices

MARKER = "Still working"
ERROR_LIMIT = 200
_MARKER_LIKE = re.compile(r"(still)(\s+)(working)", re.IGNORECASE)
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_UNSPEAKABLE = re.compile(r"[\s\x00-\x1f\x7f<>{}\[\]|`\\/]+")
_CUT = "..."
_ROOM_PER_FIELD = 30
_RESERVED = "turn"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a phrase must look like: the fields it uses, each at least once, and its length when spoken."""

    fields: frozenset[str]
    limit: int | None = None


def _sentence(*fields: str) -> Shape:
    return Shape(frozenset(fields))


def _error(*fields: str) -> Shape:
    return Shape(frozenset(fields), ERROR_LIMIT)


TABLE: Mapping[str, Shape] = {
    "ping": _sentence(),
    # Requests that are refused; the key is the error's code.
    "unauthorized": _error(),
    "too_many_failures": _error(),
    "forbidden_host": _error(),
    "forbidden_origin": _error(),
    "forbidden_funnel": _error(),
    "unparsable": _error(),
    "too_slow": _error(),
    "not_found": _error(),
    "method_not_allowed": _error(),
    "bad_field": _error("field", "expected"),
    "duplicate_field": _error("field"),
    "stray_key": _error("key"),
    "bad_cursor": _error(),
    "empty_message": _error(),
    "message_too_long": _error(),
    "unknown_request": _error(),
    "not_utf8": _error(),
    "compressed": _error(),
    "too_large": _error("limit_mb"),
    "too_long": _error("limit_s"),
    "nothing_heard": _error(),
    "heard_uncertain": _error("words"),
    "unreadable": _error(),
    "truncated": _error(),
    "busy": _error(),
    "no_speech": _error(),
    "internal": _error(),
    "id_clash": _error(),
    # Which session is meant, and whether it can be driven.
    "no_sessions": _error(),
    "no_session": _error("name", "candidates"),
    "ambiguous_session": _error("candidates"),
    "which_session": _error("candidates"),
    "session_moved": _error("name"),
    "session_unreachable": _error("name"),
    "session_dead": _error("name"),
    "session_readonly": _error(),
    "session_forbidden": _error("name"),
    "session_self": _error("name"),
    "no_socket": _sentence(),
    "not_ours": _sentence(),
    "starting": _sentence(),
    "sessions_one": _sentence("session"),
    "sessions_list": _sentence("count", "sessions"),
    "sessions_left_out": _sentence("count"),
    "session_idle": _sentence("name"),
    "session_working": _sentence("name"),
    "session_waiting": _sentence("name"),
    # What a session is doing; spoken behind the marker.
    "working_reading_file": _sentence(),
    "working_editing_file": _sentence(),
    "working_running_command": _sentence(),
    "working_searching": _sentence(),
    "working_browsing": _sentence(),
    "working_thinking": _sentence(),
    "working_compacting": _sentence(),
    "working_delegating": _sentence(),
    "working_using_tool": _sentence("tool"),
    "working_writing": _sentence(),
    "working_waiting_model": _sentence(),
    "working_queued": _sentence(),
    "working_step": _sentence("activity"),
    "working_steps": _sentence("activity", "count"),
    # What a session needs from the driver.
    "form": _sentence(),
    "form_unseen": _sentence(),
    "permission": _sentence(),
    "permission_command": _sentence(),
    "permission_command_for": _sentence("purpose"),
    "permission_file": _sentence("file"),
    "permission_plan": _sentence(),
    "permission_tool": _sentence("tool"),
    "held": _sentence(),
    "dialog_open": _sentence(),
    "option": _sentence("number", "label"),
    # How a turn ended.
    "empty_answer": _sentence(),
    "cut_answer": _sentence(),
    "refusal": _sentence(),
    "nothing_new": _sentence(),
    "nothing_more": _sentence(),
    "nothing_to_repeat": _sentence(),
    "more_hint": _sentence(),
    "missed": _sentence("text"),
    "earlier_answer": _sentence("text"),
    "shared_answer": _sentence(),
    "joined_running": _sentence(),
    "unconfirmed": _sentence(),
    "api_error": _error(),
    "api_error_overloaded": _error(),
    "api_error_auth": _error(),
    "api_error_full": _error(),
    "interrupted": _error(),
    "dismissed": _error(),
    "denied": _error(),
    "expired": _error(),
    "refused": _error(),
    "dropped": _error(),
    "ended": _error("name"),
    "unknown_delivery": _error(),
    # What happened to a recording that was understood all the same.
    "audio_truncated": _sentence(),
    "audio_repeat_dropped": _sentence(),
    # Small parts of sentences.
    "either": _sentence("first", "last"),
    "number_words": _sentence(),
    # What is said where something that a session wrote is not read out.
    **{f"notice_{field.name}": _sentence(*PLACEHOLDERS.get(field.name, ())) for field in fields(Notices)},
}


class BadPhrases(Exception):
    """A phrases file that cannot be used; the text is one line for each fault, with file and line."""

    code = "bad_phrases"


def guard_marker(text: str) -> str:
    """The text with a no-break space in whatever a client could take for the marker, in any case."""
    return _MARKER_LIKE.sub(rf"\1{_NO_BREAK_SPACE}\3", text)


def working(activity: str = "") -> str:
    """The sentence of a session that has not settled: the marker, once, then what it is doing."""
    return f"{MARKER}. {guard_marker(activity)}" if activity else f"{MARKER}."


class Phrases:
    """The sentences of one language, all checked."""

    def __init__(self, language: str, templates: Mapping[str, tuple[str, ...]]) -> None:
        self.language = language
        self._templates = templates

    @classmethod
    def load(cls, language: str) -> "Phrases":
        """The shipped sentences of a language like `en`. Errors: `BadPhrases`."""
        if language not in resources.languages():
            raise BadPhrases(f"there is no phrases file for the language {language!r}")
        return cls.read(resources.path(f"phrases/{language}.yaml"))

    @classmethod
    def read(cls, path: Path) -> "Phrases":
        """The sentences of a file. Errors: `BadPhrases`, with everything that is wrong with it."""
        try:
            entries = read(path)
        except OSError as error:
            raise BadPhrases(f"{path}: it cannot be read ({error.strerror})") from None
        except BadYaml as error:
            faults = [f"{path}:{fault.line}: expected {fault.expected}" for fault in error.faults]
            raise BadPhrases("\n".join(faults)) from None
        templates: dict[str, tuple[str, ...]] = {}
        problems = list(_fill(templates, entries))
        problems += [f" {key}: is missing" for key in TABLE if key not in {entry.key for entry in entries}]
        if problems:
            raise BadPhrases("\n".join(f"{path}:{problem}" for problem in problems))
        return cls(path.stem, templates)

    def say(self, key: str, /, turn: int = 0, **values: object) -> str:
        """A phrase with its fields filled; it never holds the marker, and an error's keeps to its limit.

        Where a phrase has several wordings, `turn` picks one, so that two in a row can differ.
        Errors: `KeyError` for a phrase or a field that is not in the table: a fault in the code.
        """
        shape, wordings = TABLE[key], self._templates[key]
        if values.keys() != shape.fields:
            raise KeyError(f"{key} takes {sorted(shape.fields)}, not {sorted(values)}")
        template = wordings[turn % len(wordings)]
        texts = {name: str(value) for name, value in values.items()}
        if shape.limit is not None:
            texts = _shortened(template, {name: _spoken(text) for name, text in texts.items()}, shape.limit)
            template = _without_stop_after_cut(template, texts)
        return guard_marker(template.format_map(texts))

    @property
    def notices(self) -> Notices:
        """The templates for what is announced instead of read."""
        return Notices(
            **{field.name: self._templates[f"notice_{field.name}"][0] for field in fields(Notices)}
        )

    def has(self, key: str) -> bool:
        """Whether there is a phrase of that name."""
        return key in TABLE

    def wordings(self, key: str) -> int:
        """How many wordings a phrase has."""
        return len(self._templates[key])

    def number(self, count: int) -> str:
        """A small number as a word, a larger one in digits."""
        words = self._templates["number_words"]
        return words[count] if 0 <= count < len(words) else str(count)

    def either(self, names: Sequence[str]) -> str:
        """`a, b or c`."""
        *first, last = names or [""]
        return self.say("either", first=", ".join(first), last=last) if first else guard_marker(last)


def _fill(templates: dict[str, tuple[str, ...]], entries: tuple[Entry, ...]) -> Iterator[str]:
    """Put each entry's wordings into `templates`; what is wrong with the others comes out."""
    first, doubles = first_of_each(entries)
    for double in doubles:
        yield f"{double.line}: {double.key}: expected {double.expected}"
    for entry in first:
        try:
            wordings = _wordings(entry)
        except ValueError as error:
            yield f"{entry.line}: {entry.key}: {error}"
        else:
            templates[entry.key] = wordings


def _wordings(entry: Entry) -> tuple[str, ...]:
    """The checked templates of an entry, one or several. Errors: `ValueError` saying what is wrong."""
    if entry.key not in TABLE:
        raise ValueError("there is no such phrase in gateway/phrases.py")
    try:
        value = entry.value()
    except BadYaml as error:
        raise ValueError(f"expected {error}") from None
    wordings = value if isinstance(value, list) else [value]
    if not wordings:
        raise ValueError("has no wording")
    return tuple(_checked(wording, TABLE[entry.key]) for wording in wordings)


def _checked(template: object, shape: Shape) -> str:
    if not isinstance(template, str) or not template.strip():
        raise ValueError("expected text; put it in quotes")
    if _MARKER_LIKE.search(template):
        raise ValueError("holds the marker, which only the code may speak")
    used = _fields(template)
    if used != shape.fields:
        raise ValueError(f"must use the fields {sorted(shape.fields)}, uses {sorted(used)}")
    room = _ROOM_PER_FIELD * len(used)
    if shape.limit is not None and len(_without_fields(template)) + room > shape.limit:
        raise ValueError(f"is too long: at most {shape.limit - room} characters beside its fields")
    return template


def _fields(template: str) -> frozenset[str]:
    """The names between braces. Errors: `ValueError` for anything that reaches further than a name."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError:
        raise ValueError("has a brace that is not part of a {field}") from None
    found = set()
    for _, name, spec, conversion in parts:
        if name is None:
            continue
        if spec or conversion or not name.isidentifier() or name == _RESERVED:
            raise ValueError("may use {field} only by its bare name")
        found.add(name)
    return frozenset(found)


def _without_fields(template: str) -> str:
    return "".join(text for text, *_ in string.Formatter().parse(template))


def _spoken(value: str) -> str:
    """A value fit for a sentence: one line, no marks that belong to code or paths."""
    return _UNSPEAKABLE.sub(" ", value).strip()


def _shortened(template: str, values: dict[str, str], limit: int) -> dict[str, str]:
    """The values, the longest of them cut as far as the sentence's limit asks for."""
    short, room = values, limit
    while len(template.format_map(short)) > limit:
        room -= 1
        short = {name: _cut(text, room) for name, text in values.items()}
    return short


def _without_stop_after_cut(template: str, texts: dict[str, str]) -> str:
    """The template without the full stop after a field whose value ends in one or in dots."""
    for name, text in texts.items():
        if text.endswith("."):
            template = template.replace(f"{{{name}}}.", f"{{{name}}}")
    return template


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(0, room - len(_CUT))].rstrip(" .") + _CUT
