"""Which writing system a text is in, as far as an English voice has to know."""

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from voice.notices import Notices

_RANGES: Mapping[str, str] = MappingProxyType(
    {
        "Chinese": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
        "Japanese": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d",
        "Korean": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
        "Cyrillic": "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff",
        "Arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
        "Hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
        "Hindi": "\u0900-\u097f",
        "Thai": "\u0e00-\u0e7f",
        "Armenian": "\u0530-\u058f",
        "Georgian": "\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2f",
        # Everything else between Indic and Yi that carries letters.
        "foreign": "\u0700-\u074f\u0780-\u08ff\u0980-\u0dff\u0e80-\u109f\u1200-\u1c7f\ua000-\ua6ff",
    }
)
_LETTER = re.compile("|".join(f"(?P<{name}>[{span}])" for name, span in _RANGES.items()))
_ANY = "".join(_RANGES.values())
_RUN = re.compile(
    f"[{_ANY}][{_ANY}\u3000-\u303f，。、；：？！（）]*(?: ?[{_ANY}][{_ANY}\u3000-\u303f，。、；：？！（）]*)*"
)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# One ideograph stands for about as much as three Latin letters.
_WEIGHTS: Mapping[str, int] = MappingProxyType({"Chinese": 3, "Japanese": 2, "Korean": 2})


def foreign_script(text: str) -> str | None:
    """The name of the writing system most of the text is in, None where an English voice can read it."""
    if text.isascii():
        return None
    weights = _weights(text)
    total = sum(weights.values())
    if not total or total < len(_LATIN.findall(text)):
        return None
    return _name(weights)


def without_foreign_words(text: str, notices: Notices) -> str:
    """The text with each run in an unreadable script replaced by a notice that names the script."""
    if text.isascii():
        return text
    return _RUN.sub(lambda run: f" {notices.foreign_words.format(script=_name(_weights(run[0])))} ", text)


def _weights(text: str) -> Counter[str]:
    weights: Counter[str] = Counter()
    for match in _LETTER.finditer(text):
        script = match.lastgroup or "foreign"
        weights[script] += _WEIGHTS.get(script, 1)
    return weights


def _name(weights: Counter[str]) -> str:
    if weights["Japanese"]:  # kana occur in nothing else; most letters of a Japanese text are Chinese ones
        return "Japanese"
    return weights.most_common(1)[0][0]
