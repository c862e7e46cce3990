"""Markdown as the blocks a listener needs: text, code, tables, in order."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from voice.maths_spoken import spoken_formula
from voice.notices import Notices
from voice.verbalize import verbalize, verbalize_code

_NESTING_LIMIT = 20
_MATHS = re.compile(
    r"\$(?![\s$])([^$\n`]{1,200}?)(?<![\s\\])\$(?![\w$])|\$\$([^$]{1,2000})\$\$|\\\(([^\n]{1,200}?)\\\)"
)
# "$A/$B" are variables or prices; a formula has an operator, a command or a lone letter.
_LOOKS_LIKE_MATHS = re.compile(r"[\\^_=+<>{}()]|^\s*[A-Za-z]\s*$|\w\s*[-*/]\s*\w")
_FENCE_MATHS = frozenset({"math", "latex", "tex", "katex"})
_NEW_LINE = re.compile(
    r"\s*(?:[•‣◦▪–—→]|[\u2300-\u23ff\u25a0-\u25ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]|(?:\d{1,3}|[A-Za-z])[.)]\s)"
)
_TASK = re.compile(r"\[([ xX])\]\s+")
_AFTER_CODE_LINE = re.compile(r":\d{1,7}(?:[-–:]\d{1,7})?(?!\w)")
_ARROW = re.compile(r"^\s*(?:[-=]>|[\u2192\u21d2\u27a1])\s*$")
_EMPHASIS = frozenset({"em_open", "em_close", "strong_open", "strong_close"})
_SENTENCE_BREAK = "\n"


class BlockKind(StrEnum):
    TEXT = "text"
    CODE = "code"
    TABLE = "table"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Block:
    """One thing to say: words (`lines` that stand by themselves), or code and tables by their size."""

    kind: BlockKind
    text: str = ""
    number: int | None = None
    is_done: bool | None = None
    size: int = 0
    language: str = ""


def blocks(markdown: str, notices: Notices) -> tuple[Block, ...]:
    """The document's blocks in order; text with links, code spans and images already in words.

    A list item's number is on its first block, `is_done` on the first block of a task.
    """
    return tuple(_walk(_parser().parse(markdown), notices))


def raw_text(markdown: str) -> str:
    """The prose of the document without code: what decides about its language."""
    parts: list[str] = []
    for token in _parser().parse(markdown):
        for child in token.children or []:
            if child.type == "text":
                parts.append(child.content)
    return " ".join(parts)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _NESTING_LIMIT})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "maths", _maths_rule)
    return parser


def _maths_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _MATHS.match(state.src, state.pos)
    if match is None or match.end() > state.posMax:
        return False
    formula = match[1] or match[2] or match[3]
    if match[1] and not _LOOKS_LIKE_MATHS.search(formula):
        return False
    if not silent:
        token = state.push("maths", "", 0)
        token.content = formula
    state.pos = match.end()
    return True


@dataclass(slots=True)
class _Item:
    number: int | None
    is_first: bool = True


def _walk(tokens: Sequence[Token], notices: Notices) -> Iterator[Block]:
    items: list[_Item] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "list_item_open":
            items.append(_Item(int(token.info) if token.info.isdigit() else None))
        elif token.type == "list_item_close":
            items.pop()
        elif token.type == "table_open":
            end = _closing(tokens, position)
            yield Block(BlockKind.TABLE, size=sum(t.type == "tr_open" for t in tokens[position:end]) - 1)
            position = end
        else:
            for block in _leaf(token, notices):
                yield _marked(block, items)
        position += 1


def _closing(tokens: Sequence[Token], opening: int) -> int:
    for position in range(opening, len(tokens)):
        if tokens[position].type == "table_close":
            return position
    return len(tokens)


def _marked(block: Block, items: list[_Item]) -> Block:
    if not items or not items[-1].is_first or block.kind is not BlockKind.TEXT:
        return block
    items[-1].is_first = False
    task = _TASK.match(block.text)
    if task:
        return replace(block, text=block.text[task.end() :], is_done=task[1] != " ", number=items[-1].number)
    return replace(block, number=items[-1].number)


def _leaf(token: Token, notices: Notices) -> Iterator[Block]:
    if token.type in {"fence", "code_block"}:
        info = token.info.split()
        language = re.sub(r"[^\w#+.-]", "", info[0]) if info else ""
        if language.lower() in _FENCE_MATHS:
            yield Block(BlockKind.NOTICE, notices.formula)
        elif token.content.strip():
            yield Block(
                BlockKind.CODE, size=max(1, token.content.rstrip("\n").count("\n") + 1), language=language
            )
    elif token.type == "inline":
        yield Block(BlockKind.TEXT, _flat(token.children or [], notices))
    elif token.type == "html_block":
        yield from _html(token.content, notices)


def _html(content: str, notices: Notices) -> Iterator[Block]:
    name = re.match(r"\s*<([A-Za-z]+)", content)
    element = name[1].lower() if name else ""
    if element == "table":
        yield Block(BlockKind.TABLE, size=max(0, content.lower().count("<tr") - ("<th" in content.lower())))
    elif element in {"script", "style", "pre"} and (closing := _closing_tag(element).search(content)):
        inner = content[: closing.start()].partition(">")[2].strip()
        yield Block(BlockKind.CODE, size=inner.count("\n") + 1, language="" if element == "pre" else "html")
        yield from _words(content[closing.end() :], notices)
    else:
        yield from _words(content, notices)


def _closing_tag(element: str) -> re.Pattern[str]:
    return re.compile(rf"</{element}\s{{0,9}}>", re.IGNORECASE)


def _words(content: str, notices: Notices) -> Iterator[Block]:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _NESTING_LIMIT}).disable("html_block")
    for token in parser.parse(content):
        if token.type == "inline":
            yield Block(BlockKind.TEXT, _flat(token.children or [], notices))


def _flat(children: Sequence[Token], notices: Notices) -> str:
    """Inline tokens as text: links by their label, code spans in words, a break where a new line starts."""
    parts: list[str] = []
    position = 0
    while position < len(children):
        child = children[position]
        if child.type == "link_open":
            end = _link_end(children, position)
            parts.append(_link(child, children[position + 1 : end], notices))
            position = end
        elif child.type == "code_inline":
            code = child.content
            following = children[position + 1].content if position + 1 < len(children) else ""
            place = _AFTER_CODE_LINE.match(following)
            if place:
                code += place[0]
                children[position + 1].content = following[place.end() :]
            parts.append(_code(code, parts, following, notices))
        elif child.type in _EMPHASIS:
            parts.append(child.markup if _is_inside_word(children, position) else "")
        elif child.type == "text" and _is_between_code(children, position):
            parts.append(_ARROW.sub(" to ", child.content))
        else:
            parts.append(_piece(child, children[position + 1 : position + 2], notices))
        position += 1
    return "".join(parts)


def _is_inside_word(children: Sequence[Token], position: int) -> bool:
    """`2*3*4` parses as emphasis and is a product; marks around words stand at their edges."""
    before = children[position - 1].content[-1:] if position else ""
    after = children[position + 1].content[:1] if position + 1 < len(children) else ""
    return before.isalnum() and after.isalnum()


def _is_between_code(children: Sequence[Token], position: int) -> bool:
    around = (*children[max(0, position - 1) : position], *children[position + 1 : position + 2])
    return len(around) == 2 and all(token.type == "code_inline" for token in around)


def _code(code: str, parts: list[str], following: str, notices: Notices) -> str:
    said = verbalize_code(code, notices)
    before = " " if parts and parts[-1][-1:].isalnum() else ""
    after = " " if following[:1].isdigit() else ""
    return f"{before}{said}{after}"


def _piece(child: Token, following: Sequence[Token], notices: Notices) -> str:
    match child.type:
        case "text":
            return child.content
        case "softbreak":
            is_new = bool(following) and _NEW_LINE.match(following[0].content) is not None
            return _SENTENCE_BREAK if is_new else " "
        case "hardbreak":
            return _SENTENCE_BREAK
        case "image":
            return _image(child, notices)
        case "maths":
            return spoken_formula(child.content, notices)
        case "html_inline":
            return _tag(child.content, notices)
        case _:
            return ""


def _tag(content: str, notices: Notices) -> str:
    tag = re.match(r"</?([A-Za-z]+)", content)
    name = tag[1].lower() if tag else ""
    if name == "img":
        alt = re.search(r"""\balt=["']([^"']{1,200})""", content)
        return (
            f" {notices.image.format(alt=verbalize(alt[1], notices))} " if alt else f" {notices.image_plain} "
        )
    return _SENTENCE_BREAK if name in {"br", "p", "li", "tr", "div", "summary"} else content


def _image(child: Token, notices: Notices) -> str:
    alt = "".join(inner.content for inner in child.children or [] if inner.type in {"text", "code_inline"})
    spoken = verbalize(alt, notices)
    return notices.image.format(alt=spoken) if spoken else notices.image_plain


def _link_end(children: Sequence[Token], opening: int) -> int:
    for position in range(opening, len(children)):
        if children[position].type == "link_close":
            return position
    return len(children)


def _link(opening: Token, label: Sequence[Token], notices: Notices) -> str:
    spoken = _flat(label, notices).strip()
    return spoken or notices.a_link
