"""Utterances that are meant for Codriver itself, from `config/spoken_commands/<language>.yaml`.

Only the whole utterance counts: "more" is a command, "more tests" is a prompt. Pure after loading.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from gateway import resources
from gateway.yaml_mapping import BadYaml, first_of_each, read

_APOSTROPHES = re.compile(r"['\u2018\u2019\u02bc\u2032`´]")
_NOT_WORDS = re.compile(r"[\W_]+")
_LONGEST = 120
_POLITE = "polite"


class Command(StrEnum):
    """What can be commanded: the next page of an answer, or the last sentence again."""

    MORE = "more"
    REPEAT = "repeat"


class BadSpokenCommands(Exception):
    """A spoken commands file that cannot be used; the text says why."""

    code = "bad_spoken_commands"


class SpokenCommands:
    """The commands of one language."""

    def __init__(self, wordings: Mapping[Command, Sequence[str]], polite: Sequence[str]) -> None:
        """`wordings` and `polite` as they are said.

        Errors: `BadSpokenCommands` for a wording that is only polite, or that two commands share.
        """
        self._polite = sorted({_words(text) for text in polite} - {()}, key=len, reverse=True)
        self._commands: dict[tuple[str, ...], Command] = {}
        for command, texts in wordings.items():
            for text in texts:
                words = self._bare(_words(text))
                if not words or self._commands.setdefault(words, command) is not command:
                    raise BadSpokenCommands(f"{command}: {text!r} has no meaning of its own")

    @classmethod
    def load(cls, language: str) -> "SpokenCommands":
        """The shipped commands of a language like `en`. Errors: `BadSpokenCommands`."""
        if language not in resources.languages():
            raise BadSpokenCommands(f"there is no language {language!r}")
        return cls.read(resources.path(f"spoken_commands/{language}.yaml"))

    @classmethod
    def read(cls, path: Path) -> "SpokenCommands":
        """The commands of a file: a list of wordings for each command, and `polite` words.

        Errors: `BadSpokenCommands`.
        """
        try:
            first, doubles = first_of_each(read(path))
            lists = {entry.key: entry.value() for entry in first}
        except OSError as error:
            raise BadSpokenCommands(f"{path}: it cannot be read ({error.strerror})") from None
        except BadYaml as error:
            raise BadSpokenCommands(f"{path}: expected {error}") from None
        known = {_POLITE, *Command}
        if doubles or lists.keys() != known:
            raise BadSpokenCommands(f"{path}: expected each of these once: {', '.join(sorted(known))}")
        texts = {key: _texts(path, key, value) for key, value in lists.items()}
        return cls({command: texts[command] for command in Command}, texts[_POLITE])

    def recognise(self, text: str) -> Command | None:
        """The command that the whole utterance is, whatever its case, punctuation and manners; else None."""
        if len(text) > _LONGEST:
            return None
        words = _words(text)
        return self._commands.get(words) or self._commands.get(self._bare(words))

    def _bare(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The words without polite ones at either end."""
        while True:
            for polite in self._polite:
                if words[: len(polite)] == polite:
                    words = words[len(polite) :]
                    break
                if words[-len(polite) :] == polite:
                    words = words[: -len(polite)]
                    break
            else:
                return words


def _words(text: str) -> tuple[str, ...]:
    plain = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", text).casefold())
    return tuple(_NOT_WORDS.sub(" ", plain).split())


def _texts(path: Path, key: str, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise BadSpokenCommands(f"{path}: {key}: expected a list of wordings")
    return value
