"""The prose of an agent's Markdown, block by block: no code, no tables, no addresses."""

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

_ADDRESS = re.compile(r"\b(?:https?|ftp)://\S+|\bwww\.\S+")
_NESTING_LIMIT = 20
_LIMIT_CHARS = 200_000


def prose(markdown: str) -> tuple[str, ...]:
    """Each block's text as it stands; inline code is the word "code", a link is its label."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING_LIMIT}).enable("table")
    blocks: list[str] = []
    in_table = False
    for token in parser.parse(markdown[:_LIMIT_CHARS]):
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        elif token.type == "inline" and not in_table:
            text = _ADDRESS.sub("link", "".join(_words(child) for child in token.children or []))
            if text.strip():
                blocks.append(text.strip())
    return tuple(blocks)


def _words(token: Token) -> str:
    match token.type:
        case "text":
            return token.content
        case "code_inline":
            return "code"
        case "softbreak" | "hardbreak":
            return "\n"
    return ""
