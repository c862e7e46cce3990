"""Formulas of LaTeX kind in words, or a notice where words would not help."""

# Word lists read better as words than as literals.
# ruff: noqa: SIM905
import re
from collections.abc import Mapping
from types import MappingProxyType

from voice.notices import Notices

_LIMIT_CHARS = 60
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("leq", "le", "leqslant"), "at most"),
        **dict.fromkeys(("geq", "ge", "geqslant"), "at least"),
        **dict.fromkeys(("neq", "ne"), "is not"),
        "approx": "about",
        "times": "times",
        "cdot": "times",
        "div": "divided by",
        "pm": "plus or minus",
        "to": "to",
        "rightarrow": "to",
        "in": "in",
        "infty": "infinity",
        "sqrt": "the root of",
        "sum": "the sum of",
        "prod": "the product of",
        "ldots": "and so on",
        "dots": "and so on",
        "lt": "less than",
        "gt": "more than",
    }
)
_SILENT = frozenset(
    """
    text mathrm mathbf mathit mathcal mathbb operatorname left right big Big bigl bigr quad qquad
    displaystyle
    """.split()
)
_FRACTION = re.compile(r"\\[dt]?frac ?\{([^{}]{1,40})\} ?\{([^{}]{1,40})\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*? ?")
_POWER = re.compile(r"\^ ?(?:\{([^{}]{1,20})\}|(\w))")
_POWERS: Mapping[str, str] = MappingProxyType({"2": "squared", "3": "cubed"})
_OPERATORS: Mapping[str, str] = MappingProxyType(
    {"=": "equals", "+": "plus", "-": "minus", "*": "times", "/": "over", "<": "less than", ">": "more than"}
)
_OPERATOR = re.compile(r" ?([=+*/<>]|(?<=[\w)}]) ?-) ?")
_CALL = re.compile(r"(?<=[A-Za-z]) ?\( ?([^()]{1,40}) ?\)")


def spoken_formula(formula: str, notices: Notices) -> str:
    """A short formula in words, without delimiters, braces and backslashes; a long one as a notice."""
    formula = formula.strip()
    if len(formula) > _LIMIT_CHARS or "\\begin" in formula or "\n" in formula or not formula:
        return notices.formula
    said = _FRACTION.sub(r"\1 over \2", formula)
    said = _COMMAND.sub(_command, said)
    said = _POWER.sub(lambda match: _power(match[1] or match[2]), said)
    said = _CALL.sub(r" of \1", said)
    said = _OPERATOR.sub(lambda match: f" {_OPERATORS[match[1].strip()]} ", said)
    said = re.sub(r"\\.", " ", said)
    said = re.sub(r"[\\{}^_$&|~]+", " ", said)
    return " ".join(said.split()) or notices.formula


def _command(match: re.Match[str]) -> str:
    name = match[1]
    return " " if name in _SILENT else f" {_WORDS.get(name, name)} "


def _power(exponent: str) -> str:
    return f" {_POWERS.get(exponent, f'to the power of {exponent}')} "
