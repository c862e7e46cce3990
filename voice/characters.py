"""Text without the characters that are never words: escapes, controls, invisible marks, broken halves."""

import re
import unicodedata

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|\x9d)[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC and other strings
    r"|\x1b[ -/]{0,8}[0-~]?"
    # The bracketed rest of a colour code whose escape character was lost on the way.
    r"|\[\d{1,3}(?:;\d{1,3}){0,8}m(?![\]\w])"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_PILED_MARKS = re.compile("([\u0300-\u036f]{2})[\u0300-\u036f]+")
_STYLED = re.compile("[\U0001d400-\U0001d7ff\uff01-\uff5e\ufb00-\ufb06]+")
_BLANKS = re.compile(r"[ \t]+")
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cn", "Cs"})


def clean(text: str) -> str:
    """The text with terminal escapes, controls, bidi and zero-width marks and lone surrogates removed.

    Line ends of every kind become `\\n`, other blanks a space or a tab; split surrogate pairs are joined;
    styled letters (mathematical, full-width, ligatures) become plain ones. Runs in linear time.
    """
    text = _ESCAPES.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    if not text.isascii():
        text = _joined_surrogates(text)
        text = _STYLED.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = "".join(_kept(char) for char in text)
    return _PILED_MARKS.sub(r"\1", unicodedata.normalize("NFC", text))


def one_line(text: str) -> str:
    """The text on one line with single blanks."""
    return _BLANKS.sub(" ", text.replace("\n", " ")).strip()


def _joined_surrogates(text: str) -> str:
    """A pair that arrived as two halves becomes its character; a half alone goes."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def _kept(char: str) -> str:
    if char == "\u200b":
        return ""
    if " " <= char <= "~" or char in "\n\t":
        return char
    category = unicodedata.category(char)
    if category in _DROPPED_CATEGORIES or "\ufe00" <= char <= "\ufe0f" or char >= "\U000e0000":
        return ""
    return " " if category == "Zs" else char
