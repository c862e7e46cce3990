"""Inline text in the words a voice should say; plain prose comes through unchanged."""

import re

from voice.characters import clean, one_line
from voice.dates_spoken import spoken_dates
from voice.identifiers_spoken import is_file, is_long_token, split_name, spoken_flag, spoken_hash, spoken_name
from voice.markup import without_tags
from voice.notices import Notices
from voice.numbers_spoken import spoken_numbers
from voice.paths_spoken import spoken_email, spoken_mention, spoken_path, spoken_references, spoken_url
from voice.scripts import without_foreign_words
from voice.symbols_spoken import spoken_symbols, spoken_verdicts, without_marks

# Words made from one mark can complete another pattern; three passes settled every text tried.
_PASSES = 5
_FOOTNOTE = re.compile(r"\[\^[\w-]{1,40}\]:?")
_LEAD = "([{<\"'`‘“«|"
_TRAIL = ".,;:!?)]}>\"'`’”»…|"
_ABBREVIATION = re.compile(r"(?<![\w.])(e\.g|i\.e)\.(,?)(?=[\s)]|$)|(?<!\w)(vs)\.?(?=\s)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][^{}\s]{0,80})\}|([A-Za-z_]\w{0,80}))")
_POSITIONAL = re.compile(r"\$(\d)(?![\d.,])")
_DIGIT_GROUPS = re.compile(r"(?<=\d)_(?=\d)")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]{0,80}")
_PATH_LIST = re.compile(r"(?<=[\w/]):(?=[/$~.][\w/$])")
_HOST_PORT = re.compile(
    r"((?:\d{1,3}(?:\.\d{1,3}){3}|localhost|[\w-]{1,63}(?:\.[A-Za-z][\w-]{1,62}){1,6})):(\d{2,5})"
)
_TAG_IN_CODE = re.compile(r"(?<!\w)</?([A-Za-z][\w-]{0,40})[^<>]{0,200}>")
# Rulers and boxes that agents draw in code spans.
_DECORATION = re.compile("[\u2500-\u259f\u2605\u2606\u25cf\u23bf]+")
_CALL_MARKS = re.compile(r"\(\s*\)")
_CODE_MARKS = re.compile(r"[(){};,]+")
_PLAIN_CODE = re.compile(r"[\w\s./:@#+~*-]")
_CORE_CHARS_LIMIT = 400
_CODE_WORDS_LIMIT = 12
_CODE_CHARS_LIMIT = 120
_SYMBOL_SHARE_LIMIT = 0.22
_PER = frozenset({"s", "sec", "second", "min", "hour", "h", "day", "month"})


def verbalize(text: str, notices: Notices) -> str:
    """One line of prose in words: no markup, no symbols, no control characters; idempotent.

    What is not understood stays as it was written, without marks. Never raises; linear in the text.
    """
    text = one_line(clean(text))
    for _ in range(_PASSES):
        spoken = _spoken(text, notices)
        if spoken == text:
            break
        text = spoken
    return text


def verbalize_code(code: str, notices: Notices) -> str:
    """A code span in words where it is a name, a path or a command; else a notice.

    Flags stay recognisable ("dash dash no verify"), names are split, quotes and brackets go.
    """
    code = one_line(_DECORATION.sub(" ", clean(code)))
    if not _is_sayable(code):
        return notices.inline_code if code else ""
    code = _TAG_IN_CODE.sub(r"\1", code)
    code = _POSITIONAL.sub(r"dollar \1", code)
    code = " ".join(_spoken_token(token, notices, in_code=True) for token in code.split(" "))
    code = _CODE_MARKS.sub(" ", _CALL_MARKS.sub("", code))
    return verbalize(code, notices)


def _is_sayable(code: str) -> bool:
    if len(code) > _CODE_CHARS_LIMIT and " " in code:
        return False
    if len(code.split(" ")) > _CODE_WORDS_LIMIT:
        return False
    symbols = len(_PLAIN_CODE.sub("", _CALL_MARKS.sub("", code)))
    return symbols <= max(3, _SYMBOL_SHARE_LIMIT * len(code))


def _spoken(text: str, notices: Notices) -> str:
    text = without_tags(text, notices)
    text = without_foreign_words(text, notices)
    text = spoken_verdicts(one_line(text), notices)
    text = _FOOTNOTE.sub("", text)
    text = _ABBREVIATION.sub(_abbreviation, text)
    text = spoken_references(one_line(text))
    text = " ".join(_spoken_token(token, notices, in_code=False) for token in text.split(" "))
    text = spoken_numbers(spoken_dates(text))
    # The patterns of symbols take blanks with them: a long run of blanks would make them quadratic.
    return without_marks(spoken_symbols(one_line(text)))


def _abbreviation(match: re.Match[str]) -> str:
    if match[3]:
        return "versus"
    said = "for example" if match[1].lower() == "e.g" else "that is"
    if match[1][0].isupper():
        said = said[0].upper() + said[1:]
    return f"{said}{match[2]}"


def _spoken_token(token: str, notices: Notices, *, in_code: bool) -> str:
    if token.isalpha() and token.isascii() and (token.islower() or token.istitle()) and len(token) <= 40:
        return token
    stripped = token.lstrip(_LEAD)
    lead = token[: len(token) - len(stripped)]
    core = stripped.rstrip(_TRAIL)
    core = _with_own_ending(core, stripped)
    trail = stripped[len(core) :]
    if not core:
        return token
    return f"{lead}{_spoken_core(core, notices, in_code)}{trail}"


def _with_own_ending(core: str, stripped: str) -> str:
    """Gives back what belongs to the word: the bracket of `main.c(12)`, the `>` of a type."""
    rest = stripped[len(core) :]
    if rest.startswith(")") and core.count("(") > core.count(")"):
        return core + ")"
    return core


def _spoken_core(core: str, notices: Notices, in_code: bool) -> str:
    for said in (
        spoken_name(core),
        spoken_url(core, notices),
        spoken_hash(core),
        spoken_email(core),
    ):
        if said is not None:
            return said
    if len(core) > _CORE_CHARS_LIMIT:
        return notices.long_token
    mention = spoken_mention(core)
    if mention is not None:
        return (
            _spoken_core(mention, notices, in_code) if "/" not in mention else mention.replace("/", " slash ")
        )
    flag = spoken_flag(core, in_code=in_code)
    if flag is not None:
        return flag
    said = _spoken_parts(core, notices, in_code)
    if said is not None:
        return said
    path = spoken_path(core, in_code=in_code) if not _is_counted(core) else None
    if path is not None:
        return path
    if is_long_token(core):
        return notices.long_token
    return _spoken_words(core, in_code)


def _spoken_parts(core: str, notices: Notices, in_code: bool) -> str | None:
    """What is put together from parts that each are said by their own rule; None for a single part."""
    values = core.split("=")
    if len(values) > 1 and all(values) and "=>" not in core and _IDENTIFIER.fullmatch(values[0]):
        return " equals ".join(_spoken_core(value, notices, in_code) for value in values)
    if "::" in core.strip(":"):
        return " ".join(_spoken_core(part, notices, in_code) for part in core.split("::") if part)
    listed = _PATH_LIST.split(core)
    if len(listed) > 1:
        return ", ".join(_spoken_core(part, notices, in_code) for part in listed)
    port = _HOST_PORT.fullmatch(core)
    if port and not is_file(port[1]):
        return f"{port[1]} port {port[2]}"
    return None


def _is_counted(core: str) -> bool:
    """`12MB/s`, `$5/month` and `3/4` are quantities, not paths; `req/s` is a rate."""
    counted, slash, per = core.rpartition("/")
    if not slash:
        return False
    if per in _PER or (core[0] in "$€£¥₹~≈+-" and core[1:2].isdigit()):
        return True
    return core[0].isdigit() and counted.count("/") < 2 and "." not in per


def _spoken_words(core: str, in_code: bool) -> str:
    core = _VARIABLE.sub(lambda match: match[1] or match[2], core)
    core = _DIGIT_GROUPS.sub("", core)
    if core.endswith("()"):
        core, in_code = core[:-2], True
    if "_" not in core and core.isalpha() and not in_code and core.isascii() is False:
        return core
    return "".join(
        split_name(piece, in_code=in_code) if piece[:1].isalnum() or piece[:1] == "_" else piece
        for piece in re.split(r"(\W+)", core)
    )
