"""One YAML file as a mapping that still knows its lines: keys in order, doubles kept, no value lost.

PyYAML alone lets the last of two equal keys win in silence and forgets where a value stood.
Here every faulty spot becomes a `YamlFault`; its text never repeats what the file says there,
since that could be a secret. Files over 1 MiB are not read. Errors: `BadYaml`, with all faults.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

LIMIT_BYTES = 1 << 20
# What PyYAML's constructors raise for `!!timestamp x`, `!!bool x`, `!!int x`, `!!float` and the like.
_UNBUILDABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_NULL = "tag:yaml.org,2002:null"
_MARK = re.compile(r"'([^'<]*)'")
_STRUCTURE = frozenset(',:-?[]{}&*!|>#%@`"') | {"\\t"}


@dataclass(frozen=True, slots=True)
class YamlFault:
    """Something wrong in a file: its line, from 1 (None for the file as a whole), and what was expected."""

    line: int | None
    key: str
    expected: str


class BadYaml(Exception):
    """The file holds no mapping that can be used; `faults` says why."""

    code = "bad_yaml"

    def __init__(self, faults: tuple[YamlFault, ...]) -> None:
        super().__init__("; ".join(fault.expected for fault in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` as it stands in the file. `line` is that of the key."""

    key: str
    line: int
    node: Node = field(repr=False)

    @property
    def is_empty(self) -> bool:
        """Nothing stands behind the colon."""
        return isinstance(self.node, ScalarNode) and self.node.tag == _NULL

    @property
    def is_mapping(self) -> bool:
        """The value is itself keys and values."""
        return isinstance(self.node, MappingNode)

    def entries(self) -> tuple["Entry", ...]:
        """The keys and values of a value that is a mapping; none for any other."""
        return tuple(_entries(self.node))

    def value(self, name: str = "") -> object:
        """The value as Python data. `name` is what a fault calls it, else its key.

        Errors: `BadYaml` for what no plain data can be made of.
        """
        name = name or self.key
        loader = yaml.SafeLoader("")
        try:
            doubles = tuple(_doubles(self.node, name, set()))
            if doubles:
                raise BadYaml(doubles)
            return loader.construct_object(self.node, deep=True)
        except yaml.YAMLError as error:
            raise BadYaml((_fault(error, name),)) from None
        except _UNBUILDABLE:
            raise BadYaml((YamlFault(self.line, name, "a plain value; put text in quotes"),)) from None
        finally:
            loader.dispose()


def read(path: Path) -> tuple[Entry, ...]:
    """The entries of a YAML file, in the file's order; none for an empty file.

    Errors: `OSError` where it cannot be read, `BadYaml` for anything but one UTF-8 mapping.
    """
    with path.open("rb") as stream:
        data = stream.read(LIMIT_BYTES + 1)
    if len(data) > LIMIT_BYTES:
        raise BadYaml((YamlFault(None, "", f"a file of at most {LIMIT_BYTES} bytes"),))
    try:
        return parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadYaml((YamlFault(line, "", "UTF-8 text"),)) from None


def parse(text: str) -> tuple[Entry, ...]:
    """The entries of YAML text. Errors: `BadYaml`."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadYaml((YamlFault(line, "", "text without control characters"),)) from None
    except yaml.YAMLError as error:
        raise BadYaml((_fault(error, ""),)) from None
    except RecursionError:
        raise BadYaml((YamlFault(None, "", "less deeply nested YAML"),)) from None
    if node is None or (isinstance(node, ScalarNode) and node.tag == _NULL):
        return ()
    if not isinstance(node, MappingNode):
        raise BadYaml((YamlFault(_line(node), "", "keys and values, one `key: value` a line"),))
    return tuple(_entries(node))


def first_of_each(entries: tuple[Entry, ...], prefix: str = "") -> tuple[list[Entry], list[YamlFault]]:
    """The entries without repeated keys, and a fault for each that was left out."""
    first: dict[str, Entry] = {}
    faults = []
    for entry in entries:
        if entry.key in first:
            faults.append(_double(entry.line, prefix + entry.key, first[entry.key].line))
        else:
            first[entry.key] = entry
    return list(first.values()), faults


def _entries(node: Node) -> Iterator[Entry]:
    if not isinstance(node, MappingNode):
        return
    for key, value in node.value:
        yield Entry(key.value if isinstance(key, ScalarNode) else "?", _line(key), value)


def _doubles(node: Node, name: str, seen: set[int]) -> Iterator[YamlFault]:
    """Keys that stand twice in one mapping, at any depth. `seen` ends an anchor that holds itself."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        for item in node.value:
            yield from _doubles(item, name, seen)
    if isinstance(node, MappingNode):
        _, faults = first_of_each(tuple(_entries(node)), f"{name}.")
        yield from faults
        for _, value in node.value:
            yield from _doubles(value, name, seen)


def _double(line: int, key: str, first_line: int) -> YamlFault:
    return YamlFault(line, key, f"each key once; line {first_line} has it already")


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _fault(error: yaml.YAMLError, key: str) -> YamlFault:
    mark = getattr(error, "problem_mark", None)
    return YamlFault(mark.line + 1 if mark else None, key, _expected(error))


def _expected(error: yaml.YAMLError) -> str:
    """What a YAML error asks for. The texts of composer and constructor quote the file, so those are ours."""
    if isinstance(error, yaml.composer.ComposerError):
        return "valid YAML: one document, and `*name` only after `&name`; put text in quotes"
    if isinstance(error, yaml.constructor.ConstructorError):
        return "a plain value without a `!tag`; put text in quotes"
    problem = str(getattr(error, "problem", None) or "it ends too early")
    if "tag handle" in problem:
        return "valid YAML without a `!tag`; put text in quotes"
    return "valid YAML: " + _MARK.sub(
        lambda mark: mark[0] if mark[1] in _STRUCTURE else "a character", problem
    )
