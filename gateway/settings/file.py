"""The settings file: which keys it sets, on which lines, and everything that is wrong with it."""

from dataclasses import dataclass
from pathlib import Path

from gateway.settings.faults import Fault, printable
from gateway.settings.keys import Key, did_you_mean
from gateway.yaml_mapping import BadYaml, Entry, YamlFault, first_of_each, read


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody set: checked, for one key, with where it was set."""

    key: Key
    value: object
    origin: str


def read_file(path: Path, keys: tuple[Key, ...], is_optional: bool) -> tuple[list[Given], list[Fault]]:
    """What the file sets, and its faults. A file that is missing is one, unless it is optional."""
    try:
        entries = read(path)
    except FileNotFoundError:
        missing = Fault(str(path), None, "", "a file; there is none of that name")
        return [], [] if is_optional else [missing]
    except OSError as error:
        return [], [Fault(str(path), None, "", f"a readable file ({error.strerror or 'it cannot be read'})")]
    except BadYaml as error:
        return [], [_fault(path, fault) for fault in error.faults]
    return _Reader(path, keys).sections(entries)


def _fault(path: Path, fault: YamlFault) -> Fault:
    key = ".".join(printable(part) for part in fault.key.split(".")) if fault.key else ""
    return Fault(str(path), fault.line, key, fault.expected)


class _Reader:
    """Goes through one file and gathers what it sets and what is wrong with it."""

    def __init__(self, path: Path, keys: tuple[Key, ...]) -> None:
        self._path = path
        self._keys = {key.name: key for key in keys}
        self._sections = list(dict.fromkeys(key.section for key in keys))
        self._given: list[Given] = []
        self._faults: list[Fault] = []

    def sections(self, entries: tuple[Entry, ...]) -> tuple[list[Given], list[Fault]]:
        for entry in self._each(entries, ""):
            if entry.key not in self._sections:
                self._unknown(entry, entry.key, "a section: " + ", ".join(self._sections))
            elif entry.is_mapping:
                self._section(entry)
            elif not entry.is_empty:
                self._add(entry.line, entry.key, "a section with its keys, one `key: value` a line")
        return self._given, self._faults

    def _section(self, section: Entry) -> None:
        for entry in self._each(section.entries(), f"{section.key}."):
            name = f"{section.key}.{entry.key}"
            if name in self._keys:
                self._value(self._keys[name], entry)
            else:
                own = [key.key for key in self._keys.values() if key.section == section.key]
                self._unknown(entry, name, f"a key of {section.key}: " + ", ".join(own))

    def _value(self, key: Key, entry: Entry) -> None:
        try:
            value = key.checked(entry.value(key.name))
        except BadYaml as error:
            self._faults += [_fault(self._path, fault) for fault in error.faults]
        except ValueError:
            self._add(entry.line, key.name, key.expected)
        else:
            self._given.append(Given(key, value, f"{self._path}:{entry.line}"))

    def _each(self, entries: tuple[Entry, ...], prefix: str) -> list[Entry]:
        first, doubles = first_of_each(entries, prefix)
        self._faults += [_fault(self._path, double) for double in doubles]
        return first

    def _unknown(self, entry: Entry, name: str, expected: str) -> None:
        known = [*self._keys, *self._sections]
        hint = did_you_mean(name, known) or self._elsewhere(entry.key)
        shown = ".".join(printable(part) for part in name.split(".", 1))
        self._add(entry.line, shown, expected + hint)

    def _elsewhere(self, word: str) -> str:
        same = [name for name, key in self._keys.items() if key.key == word]
        return f"; did you mean {same[0]}?" if same else ""

    def _add(self, line: int, key: str, expected: str) -> None:
        self._faults.append(Fault(str(self._path), line, key, expected))
