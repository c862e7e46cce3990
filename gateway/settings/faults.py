"""What is wrong with the settings: every fault at once, each with where it is and what was expected."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_NAME_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `source` is a file's path, "environment" or "command line".

    `line` counts from 1, None where there is none. `key` is the setting or variable,
    empty for a fault of the file as a whole. No value is ever part of it.
    """

    source: str
    line: int | None
    key: str
    expected: str

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return ": ".join(part for part in (where, self.key, f"expected {self.expected}") if part)


class BadSettings(Exception):
    """The settings cannot be used. `errors` holds every fault; the text is one line for each."""

    code = "bad_settings"

    def __init__(self, errors: Iterable[Fault]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(fault) for fault in self.errors))


def printable(key: str) -> str:
    """A key that the user made up, fit to be shown.

    `{token:s3cret}` without a blank is one key in YAML: what follows the name is left out.
    """
    name = _NAME.match(key)
    if name is None:
        return "?"
    return key if name[0] == key and len(key) <= _NAME_LIMIT else f"{name[0][:_NAME_LIMIT]}…"
