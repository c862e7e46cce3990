"""An agent's Markdown as sentences fit to be spoken: its own words, with what can't be said announced."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from voice.characters import clean
from voice.markdown import Block, BlockKind, blocks, raw_text
from voice.notices import Notices
from voice.scripts import foreign_script
from voice.sentences import split
from voice.verbalize import verbalize

__all__ = ["Notices", "speakable"]

# An answer is a few thousand characters; past this it is a dump, and parsing must not hold a worker.
_LIMIT_CHARS = 100_000
_LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("sh", "bash", "zsh", "shell", "console", "fish", "shell-session"), "shell"),
        **dict.fromkeys(("py", "python", "python3", "pycon", "py3"), "Python"),
        **dict.fromkeys(("js", "javascript", "mjs", "jsx"), "JavaScript"),
        **dict.fromkeys(("ts", "typescript", "tsx"), "TypeScript"),
        **dict.fromkeys(("rs", "rust"), "Rust"),
        **dict.fromkeys(("go", "golang"), "Go"),
        **dict.fromkeys(("rb", "ruby"), "Ruby"),
        **dict.fromkeys(("cs", "csharp", "c#"), "C sharp"),
        **dict.fromkeys(("cpp", "c++", "cc", "hpp"), "C plus plus"),
        **dict.fromkeys(("yml", "yaml"), "YAML"),
        **dict.fromkeys(("md", "markdown"), "Markdown"),
        **dict.fromkeys(("json", "jsonc", "json5", "jsonl"), "JSON"),
        **dict.fromkeys(("ps1", "powershell", "pwsh"), "PowerShell"),
        **dict.fromkeys(("html", "xml", "css", "sql", "toml", "php", "ini"), ""),
        **dict.fromkeys(("text", "txt", "plain", "plaintext", "output", "log", "code", "none"), "-"),
        "c": "C",
        "java": "Java",
        "kt": "Kotlin",
        "kotlin": "Kotlin",
        "swift": "Swift",
        "dockerfile": "Docker",
        "make": "Make",
        "makefile": "Make",
        "diff": "diff",
        "patch": "diff",
    }
)
_SPEAKABLE_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z-]{1,20}")
_DANGLING = re.compile(r"[\s,;:—–-]+$")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]»]*$")
_HAS_WORD = re.compile(r"\w")


def speakable(markdown: str, notices: Notices) -> tuple[str, ...]:
    """The answer as sentences, in its own words and order; () where there is nothing to say.

    Code, tables, images, URLs and formulas are announced, not read; a code-only answer says how much
    of what; an answer mostly in a script an English voice can't read is one line that says so. Headings
    and list items are sentences of their own, numbers of ordered lists kept. Never raises; time is
    linear in the text's length.
    """
    text = clean(markdown)
    is_too_long = len(text) > _LIMIT_CHARS
    text = text[:_LIMIT_CHARS]
    script = None if text.isascii() else foreign_script(raw_text(text))
    if script is not None:
        return (notices.foreign_script.format(script=script),)
    found = blocks(text, notices)
    if found and all(block.kind is BlockKind.CODE for block in found):
        return (_only_code(found, notices),)
    sentences = [sentence for block in found for sentence in _sentences(block, notices)]
    return tuple([*sentences, notices.too_long] if is_too_long else sentences)


def _sentences(block: Block, notices: Notices) -> Iterator[str]:
    match block.kind:
        case BlockKind.CODE:
            said = notices.code_omitted.format(
                lines=_lines(block.size, notices), code=_code(block.language, notices)
            )
            yield _capitalised(said)
        case BlockKind.TABLE:
            yield notices.table_row if block.size == 1 else notices.table_rows.format(rows=max(block.size, 0))
        case BlockKind.NOTICE:
            yield _finished(_capitalised(block.text))
        case BlockKind.TEXT:
            yield from _text(block, notices)


def _text(block: Block, notices: Notices) -> Iterator[str]:
    lines = [verbalize(line, notices) for line in block.text.split("\n")]
    lines = [line for line in (_DANGLING.sub("", line) for line in lines) if _HAS_WORD.search(line)]
    if not lines:
        return
    if block.is_done is not None:
        template = notices.task_done if block.is_done else notices.task_open
        lines[0] = template.format(item=lines[0])
    if block.number is not None:
        lines[0] = notices.list_item.format(number=block.number, item=lines[0])
    for line in lines:
        yield from (sentence for sentence in split(_finished(line)) if _HAS_WORD.search(sentence))


def _finished(line: str) -> str:
    return line if _SENTENCE_END.search(line) else f"{line}."


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lines(count: int, notices: Notices) -> str:
    return notices.one_line if count == 1 else notices.lines.format(count=count)


def _code(label: str, notices: Notices) -> str:
    language = _LANGUAGES.get(label.lower())
    if language == "":
        language = label.upper()
    elif language is None:
        language = label if _SPEAKABLE_LANGUAGE.fullmatch(label) else "-"
    return notices.code if language == "-" else notices.language_code.format(language=language)


def _only_code(found: Sequence[Block], notices: Notices) -> str:
    codes = {_code(block.language, notices) for block in found}
    return notices.only_code.format(
        lines=_lines(sum(block.size for block in found), notices),
        code=codes.pop() if len(codes) == 1 else notices.code,
    )
