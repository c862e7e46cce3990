"""Settings from `CODRIVER_*` variables: every key under its long name, eight under a short one too."""

import json
import math
import re
from collections.abc import Callable, Mapping

from pydantic import SecretStr

from gateway.settings.faults import Fault
from gateway.settings.file import Given
from gateway.settings.keys import Key, did_you_mean

SOURCE = "environment"
# Read elsewhere: the file's path, the client commands' gateway and name, the tests' recordings.
NOT_SETTINGS = ("CODRIVER_CONFIG", "CODRIVER_URL", "CODRIVER_CLIENT", "CODRIVER_CORPUS")
SHORT = {
    "CODRIVER_TOKEN": "auth.token",
    "CODRIVER_HOST": "server.host",
    "CODRIVER_PORT": "server.port",
    "CODRIVER_READONLY": "sessions.readonly",
    "CODRIVER_ALLOW": "sessions.allow",
    "CODRIVER_DENY": "sessions.deny",
    "CODRIVER_ALLOW_SELF": "sessions.allow_self",
}
_TRUTH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def read_environment(environ: Mapping[str, str], keys: tuple[Key, ...]) -> tuple[list[Given], list[Fault]]:
    """What the environment sets, and its faults: unknown names, wrong values, two names that disagree."""
    by_name = {key.name: key for key in keys}
    variables = {key.variable: key for key in keys} | {short: by_name[name] for short, name in SHORT.items()}
    given: dict[str, tuple[str, Given]] = {}
    faults = []
    for variable in sorted(name for name in environ if name.startswith("CODRIVER_")):
        if variable in NOT_SETTINGS:
            continue
        key = variables.get(variable)
        if key is None:
            known = did_you_mean(variable, [*variables, *NOT_SETTINGS])
            faults.append(Fault(SOURCE, None, variable, f"a known CODRIVER_ name{known}"))
            continue
        try:
            value = key.checked(_parsed(variable, key, environ[variable]))
        except ValueError:
            faults.append(Fault(SOURCE, None, variable, _expected(variable, key)))
            continue
        other, earlier = given.get(key.name, ("", None))
        if earlier is not None and earlier.value != value:
            faults.append(Fault(SOURCE, None, variable, f"the same value as {other}, or only one of the two"))
        given[key.name] = (variable, Given(key, value, f"{SOURCE} {variable}"))
    return [one for _, one in given.values()], faults


def _parsed(variable: str, key: Key, text: str) -> object:
    """A variable's text as the key's type. Errors: `ValueError`, also for an empty list or number."""
    if variable in SHORT and key.kind is tuple:
        return _listed(text)
    parser = _PARSERS.get(key.kind)
    return parser(text) if parser else text


def _listed(text: str) -> list[str]:
    """`a, b`. An empty text is refused: an allow list that a typo emptied would let everything in."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ValueError
    return names


def _truth(text: str) -> bool:
    try:
        return _TRUTH[text.strip().lower()]
    except KeyError:
        raise ValueError from None


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except RecursionError:
        raise ValueError from None


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _expected(variable: str, key: Key) -> str:
    if variable in SHORT and key.kind is tuple:
        return "names separated by commas"
    if key.kind is tuple:
        return f'{key.expected}, as JSON like ["a", "b"]'
    if key.kind is Mapping:
        return f'{key.expected}, as JSON like {{"a": "b"}}'
    return key.expected


_PARSERS: Mapping[object, Callable[[str], object]] = {
    bool: _truth,
    int: _whole,
    float: _number,
    tuple: _json,
    Mapping: _json,
    SecretStr: str,
}
