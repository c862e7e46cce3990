"""The settings in force, fit to be shown: each value with where it came from, no secret in it."""

from collections.abc import Mapping
from enum import Enum

from gateway.settings.keys import Key, all_keys
from gateway.settings.settings import Settings

MASK = "********"


def masked(settings: Settings) -> dict[str, dict[str, dict[str, object]]]:
    """`{section: {key: {"value": …, "from": …}}}`, plain data for JSON.

    A secret that is set shows as stars, one that is not as an empty text. `from` is `default`,
    `file:line`, `environment NAME` or `command line`.
    """
    shown: dict[str, dict[str, dict[str, object]]] = {}
    for key in all_keys():
        value = getattr(getattr(settings, key.section), key.key)
        shown.setdefault(key.section, {})[key.key] = {
            "value": _plain(key, value),
            "from": settings.origins.get(key.name, "default"),
        }
    return shown


def _plain(key: Key, value: object) -> object:
    if key.is_secret:
        return MASK if value and str(value) else ""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
