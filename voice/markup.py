"""HTML in prose: real tags go, type parameters and placeholders keep their words."""

# Word lists read better as words than as literals.
# ruff: noqa: SIM905
import re

from voice.notices import Notices

_ELEMENTS = frozenset(
    """
    a abbr address article aside audio b base bdi bdo big blockquote body br break button canvas
    caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em
    emphasis embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i
    iframe img input ins kbd label legend li link main mark meta nav noscript object ol option p param
    phoneme picture pre prosody q s samp say-as script section select small source span speak strike
    strong style sub summary sup svg table tbody td template textarea tfoot th thead time tr track tt
    u ul var video voice wbr
    """.split()
)
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9:_-]{0,60})((?:[\s/][^<>]{0,2000})?)>")
_COMMENT_OPEN, _COMMENT_CLOSE = "<!--", "-->"
_DECLARATION = re.compile(r"<[!?][^<>]{0,2000}>")
_HIDDEN = re.compile(r"<(script|style)\b[^<>]{0,2000}>", re.IGNORECASE)
_TYPE_PARAMETER = re.compile(r"(?<=\w)<(?=[\w\s])")
_ATTRIBUTE = re.compile(r"\s[\w:-]{1,60}\s*=|/\s*$")


def without_tags(text: str, notices: Notices) -> str:
    """The text without HTML and SSML: hidden elements and comments go whole, tags leave their words.

    An unknown `<name>` is a placeholder and keeps its word; `List<String>` becomes `List of String`.
    """
    if "<" not in text:
        return text
    text = _without_comments(text)
    text = _without_hidden(text, notices)
    text = _DECLARATION.sub(" ", text)
    closed = {match[2].lower() for match in _TAG.finditer(text) if match[1]}
    text = _TAG.sub(lambda tag: _spoken_tag(tag, closed), text)
    return _TYPE_PARAMETER.sub(" of ", text) if ">" in text else text


def is_element(name: str) -> bool:
    """Whether this is the name of an HTML or SSML element."""
    return name.lower() in _ELEMENTS


def _spoken_tag(tag: re.Match[str], closed: set[str]) -> str:
    name = tag[2].lower()
    before = tag.string[tag.start() - 1 : tag.start()]
    if before.isalnum() and tag[2][0].isupper() and not tag[1] and not tag[3]:
        return tag[0]  # List<String>
    if name == "img":
        return " "
    if name in _ELEMENTS or tag[1] or name in closed or _ATTRIBUTE.search(tag[3]):
        return (
            ""
            if name in {"b", "i", "em", "strong", "u", "sub", "sup", "code", "span", "mark", "wbr"}
            else " "
        )
    return tag[0]


def _without_comments(text: str) -> str:
    parts: list[str] = []
    position = 0
    while (start := text.find(_COMMENT_OPEN, position)) >= 0:
        end = text.find(_COMMENT_CLOSE, start)
        if end < 0:
            break
        parts.append(text[position:start])
        position = end + len(_COMMENT_CLOSE)
    return " ".join([*parts, text[position:]])


def _without_hidden(text: str, notices: Notices) -> str:
    """Script and style elements with their content; one that is never closed only loses its tag."""
    parts: list[str] = []
    position = 0
    while opening := _HIDDEN.search(text, position):
        closing = re.compile(rf"</{opening[1]}\s{{0,9}}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            break
        parts += [text[position : opening.start()], notices.inline_code]
        position = closing.end()
    return " ".join([*parts, text[position:]])
