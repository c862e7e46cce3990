"""The settings as a flat table: `server.port`, its variable, its type, and what is expected of it."""

import difflib
from collections.abc import Iterable
from enum import StrEnum
from typing import get_origin

from annotated_types import Ge, Le
from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from gateway.settings.model import Section, Sections

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text; put it in quotes"}


class Key:
    """One setting. `name` is `section.key`, `kind` the type that decides how its variable is read."""

    def __init__(self, section: str, key: str, model: type[Section], info: FieldInfo) -> None:
        self.section = section
        self.key = key
        self.name = f"{section}.{key}"
        self.variable = f"CODRIVER_{section}_{key}".upper()
        self.default = info.get_default(call_default_factory=True)
        self.kind = _kind(info.annotation)
        self.expected = info.description or _expected(self.kind, info)
        self._model = model

    @property
    def is_secret(self) -> bool:
        """Its value is never shown."""
        return self.kind is SecretStr

    def checked(self, value: object) -> object:
        """The value as the setting holds it. Errors: `ValueError` for a wrong type or out of range."""
        try:
            section = self._model.model_validate({self.key: value})
        except ValidationError:
            raise ValueError(self.name) from None
        return getattr(section, self.key)


def all_keys() -> tuple[Key, ...]:
    """Every setting, in the order of the model."""
    return tuple(
        Key(section, key, model, info)
        for section, model in sections().items()
        for key, info in model.model_fields.items()
    )


def sections() -> dict[str, type[Section]]:
    """The model of each section by its name."""
    return {name: type(info.get_default()) for name, info in Sections.model_fields.items()}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the known word that is nearest, else nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _kind(annotation: object) -> object:
    """The bare type: `tuple` for a list of names, `Mapping` for a map."""
    return get_origin(annotation) or annotation


def _expected(kind: object, info: FieldInfo) -> str:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return "one of " + ", ".join(kind)
    low = next((mark.ge for mark in info.metadata if isinstance(mark, Ge)), None)
    high = next((mark.le for mark in info.metadata if isinstance(mark, Le)), None)
    words = _WORDS[kind] if isinstance(kind, type) and kind in _WORDS else "another type"
    return words if low is None else f"{words} from {low} to {high}"
