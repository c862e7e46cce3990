"""The words that are ours: what is said where something the session wrote is not read out."""

import string
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

PLACEHOLDERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "lines": frozenset({"count"}),
        "language_code": frozenset({"language"}),
        "code_omitted": frozenset({"lines", "code"}),
        "only_code": frozenset({"lines", "code"}),
        "table_rows": frozenset({"rows"}),
        "link_to": frozenset({"host"}),
        "image": frozenset({"alt"}),
        "foreign_script": frozenset({"script"}),
        "foreign_words": frozenset({"script"}),
        "list_item": frozenset({"number", "item"}),
        "task_done": frozenset({"item"}),
        "task_open": frozenset({"item"}),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """Templates for `str.format`; the caller supplies the language's words.

    Placeholders: `{count}` lines as a number; `{language}` a language's name; `{lines}` the rendered
    `one_line` or `lines`; `{code}` the rendered `language_code` or `code`; `{rows}` data rows;
    `{host}` a host name; `{alt}` an image's description; `{script}` a writing system's name;
    `{number}`, `{item}` of a list. The fields of one sentence (`code_omitted`, `table_row(s)`,
    `only_code`, `foreign_script`, `too_long`) end in a full stop, the others stand inside a sentence.
    Raises ValueError for a placeholder that the field does not have.
    """

    one_line: str
    lines: str
    code: str
    language_code: str
    code_omitted: str
    only_code: str
    inline_code: str
    table_row: str
    table_rows: str
    link_to: str
    a_link: str
    image: str
    image_plain: str
    formula: str
    long_token: str
    foreign_script: str
    foreign_words: str
    list_item: str
    task_done: str
    task_open: str
    passed: str
    failed: str
    too_long: str

    def __post_init__(self) -> None:
        for field in fields(self):
            template: str = getattr(self, field.name)
            named = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
            unknown = named - PLACEHOLDERS.get(field.name, frozenset())
            if unknown:
                raise ValueError(f"notice {field.name!r} has no placeholder {sorted(unknown)}")
