"""The prose of an agent's Markdown, block by block: no code blocks, no tables, no quotations of others.

Each block comes twice, character by character alike: as it stands, and as a mask in which inline
code, addresses and quoted words are only x's. Rules judge the mask; what they find is cut from the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

_ADDRESS = re.compile(r"\b(?:https?|ftp)://\S+|\bwww\.\S+")
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|(?<!\w)'[^'\n]{1,300}'(?!\w)|«[^»\n]{1,300}»")
# A mark that stands alone inside a sentence ("id = ? and so on") is not the end of a question.
_LITERAL_MARK = re.compile(r"(?<=\s)[?？](?=\s+[a-z])")
_NESTING_LIMIT = 20
_LIMIT_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Prose:
    """One block. `list_number` counts the outermost lists from 1, `item` their items; 0 outside of lists."""

    text: str
    mask: str
    list_number: int = 0
    item: int = 0
    is_heading: bool = False


def prose(markdown: str) -> tuple[Prose, ...]:
    """The blocks that say something, in order."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING_LIMIT}).enable("table")
    return tuple(_blocks(parser.parse(markdown[:_LIMIT_CHARS])))


@dataclass(slots=True)
class _Place:
    """Where the walk through the tokens stands."""

    lists: int = 0
    depth: int = 0
    item: int = 0
    skipped: int = 0
    is_heading: bool = False

    def enter(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self.depth += 1
                self.lists += self.depth == 1
                self.item = 0 if self.depth == 1 else self.item
            case "bullet_list_close" | "ordered_list_close":
                self.depth -= 1
            case "list_item_open":
                self.item += self.depth == 1
            case "table_open" | "blockquote_open":
                self.skipped += 1
            case "table_close" | "blockquote_close":
                self.skipped -= 1
            case "heading_open" | "heading_close":
                self.is_heading = token.type == "heading_open"


def _blocks(tokens: list[Token]) -> Iterator[Prose]:
    place = _Place()
    for token in tokens:
        place.enter(token)
        if token.type != "inline" or place.skipped:
            continue
        text, mask = _spelled(token.children or [])
        if text.strip():
            list_number, item = (place.lists, place.item) if place.depth else (0, 0)
            yield Prose(text, mask, list_number, item, place.is_heading)


def _spelled(children: list[Token]) -> tuple[str, str]:
    text = mask = ""
    for token in children:
        match token.type:
            case "text":
                text += token.content
                mask += token.content
            case "code_inline":
                text += f"`{token.content}`"
                mask += "x" * (len(token.content) + 2)
            case "softbreak":
                text += "\n"
                mask += _seam(mask)
            case "hardbreak":
                text += "\n"
                mask += "\n"
    for hidden in (_ADDRESS, _QUOTED, _LITERAL_MARK):
        mask = hidden.sub(lambda found: "x" * len(found[0]), mask)
    return text, mask


def _seam(before: str) -> str:
    """A line that ends inside a sentence goes on in the next; a finished one or a greeting does not."""
    line = before.rpartition("\n")[2].rstrip()
    ends = line.endswith((".", "!", "?", ":", "。", "？", "！")) or (line.endswith(",") and len(line) < 30)
    return "\n" if ends else " "
