"""Reads a transcript incrementally: what a poll costs depends on the new bytes, not on the file.

The first look finds the last turn from the end of the file; later looks read only
what was appended. Lines are split on byte 0x0A alone (a raw U+2028 may stand inside
a string), a half-written last line waits for its rest, and a file that shrank, was
replaced or rewritten is noticed by its identity, its size and a print of the bytes
before the place where reading stopped.
"""

import os
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2s
from pathlib import Path
from typing import BinaryIO

from gateway.agents.claude_code.fold import Fold
from gateway.agents.claude_code.lines import Item, Queued, parse
from gateway.agents.turns import Prompt, PromptKind, Turn

LINE_LIMIT_BYTES = 32 * 1024 * 1024
"""A longer line is passed over; the longest seen in the wild hold a few MB of an image."""

_CHUNK_BYTES = 256 * 1024
# Long enough to hold the uuid and the time of a short line; the ends of lines are much alike.
_PRINT_BYTES = 512
_TAIL_TURNS = 3
_OLDER_TURNS = 256
_OLDER_KEPT = 4
_PLACES_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    data: bytes


class TranscriptReader:
    """One transcript file. Blocking; call from one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fold = Fold()
        self._identity: tuple[int, int] | None = None
        self._at = 0
        self._print = ""
        self._older: OrderedDict[tuple[int, int], tuple[Turn, ...]] = OrderedDict()
        self._places: OrderedDict[str, tuple[int | None, int]] = OrderedDict()
        self.generation = 0
        """Grows each time that another file is found in the place of the one that was read."""
        self.size = 0
        self.modified_at = 0.0

    @property
    def title(self) -> str:
        """The last title that stands in the part that was read."""
        return self._fold.title

    @property
    def queued(self) -> frozenset[str]:
        """Nonces of messages seen entering the session's queue."""
        return self._fold.queued

    @property
    def end(self) -> int:
        """Offset behind the last whole line that was read."""
        return self._at

    def refresh(self) -> float | None:
        """Read what was appended since the last look; the file's modification time, None without a file."""
        try:
            file = self.path.open("rb")
        except OSError:
            return None
        with file:
            stat = os.fstat(file.fileno())
            if self._is_other_file(file, stat):
                self._start_over(file, stat)
            self.size, self.modified_at = stat.st_size, stat.st_mtime
            for line in _lines(file, self._at, stat.st_size):
                self._take(line)
                self._at = line.end
            self._print = print_before(file, self._at)
            return stat.st_mtime

    def turns(self, after: int | None) -> tuple[Turn, ...]:
        """Turns that end behind `after`, also older ones than are kept in memory; without it the last one."""
        kept_from = self._fold.start
        if after is None or kept_from is None or after >= kept_from:
            return self._fold.turns(after)
        return self._read_older(after, kept_from) + self._fold.turns(after)

    def _read_older(self, after: int, until: int) -> tuple[Turn, ...]:
        """Turns between two places; they are over, so what was read once holds for later looks."""
        key = (after, until)
        if key not in self._older:
            older = Fold(kept_turns=_OLDER_TURNS)
            with self.path.open("rb") as file:
                for line in _lines(file, after, until):
                    for item in parse(line.data, line.start, line.end):
                        older.feed(item, line.start, line.end)
            older.close()
            self._older[key] = older.turns(after)
            while len(self._older) > _OLDER_KEPT:
                self._older.popitem(last=False)
        return self._older[key]

    def print_at(self, offset: int) -> str:
        """The print of the bytes before `offset`; "" where the file is shorter or gone."""
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < offset:
                    return ""
                return print_before(file, offset)
        except OSError:
            return ""

    def offset_after(self, record_id: str) -> int | None:
        """Where the line ends whose uuid is `record_id`; None if there is none.

        Finds a listener's place in a copy of the conversation; each part of the file is searched once.
        """
        found, searched_to = self._places.get(record_id, (None, 0))
        if found is None and searched_to < self._at:
            found = self._search(record_id, searched_to)
            self._places[record_id] = (found, self._at)
            while len(self._places) > _PLACES_KEPT:
                self._places.popitem(last=False)
        return found

    def _search(self, record_id: str, start: int) -> int | None:
        marks = [f'"uuid":{blank}"{record_id}"'.encode() for blank in ("", " ")]
        try:
            with self.path.open("rb") as file:
                for line in _lines(file, start, self._at):
                    if any(mark in line.data for mark in marks):
                        return line.end
        except OSError:
            return None
        return None

    def _is_other_file(self, file: BinaryIO, stat: os.stat_result) -> bool:
        if self._identity != (stat.st_dev, stat.st_ino) or stat.st_size < self._at:
            return True
        return print_before(file, self._at) != self._print

    def _start_over(self, file: BinaryIO, stat: os.stat_result) -> None:
        self._identity = (stat.st_dev, stat.st_ino)
        self._fold = Fold()
        self._older.clear()
        self._places.clear()
        self._at = _tail_start(file, stat.st_size)
        self.generation += 1

    def _take(self, line: _Line) -> None:
        for item in parse(line.data, line.start, line.end):
            self._fold.feed(item, line.start, line.end)


def print_before(file: BinaryIO, offset: int) -> str:
    """A short print of the (at most 512) bytes that stand before `offset`."""
    start = max(0, offset - _PRINT_BYTES)
    file.seek(start)
    return blake2s(file.read(offset - start), digest_size=4).hexdigest()


def _lines(file: BinaryIO, start: int, stop: int) -> Iterator[_Line]:
    """Whole lines between two offsets; a line over the limit is passed over without being kept."""
    file.seek(start)
    line_start, at, parts, kept = start, start, [], 0
    while at < stop:
        chunk = file.read(min(_CHUNK_BYTES, stop - at))
        if not chunk:
            return
        begin = 0
        while (newline := chunk.find(b"\n", begin)) >= 0:
            parts.append(chunk[begin:newline])
            end = at + newline + 1
            if end - line_start <= LINE_LIMIT_BYTES:
                yield _Line(line_start, end, b"".join(parts))
            else:
                yield _Line(line_start, end, b"")
            line_start, begin, parts, kept = end, newline + 1, [], 0
        if kept <= LINE_LIMIT_BYTES:
            parts.append(chunk[begin:])
            kept += len(chunk) - begin
        else:
            parts = []
        at += len(chunk)


def _tail_start(file: BinaryIO, size: int) -> int:
    """Where the last few turns begin, looked for from the end of the file; 0 if it holds no more.

    A turn begins with the first of the prompts that were taken in together; those that joined
    a running turn, or follow its background work, begin none.
    """
    turns, begins_at = 0, None
    for line in _lines_backwards(file, size):
        if begins_at is None and b'"user"' not in line.data[: 64 * 1024]:
            continue
        items = [i for i in parse(line.data, line.start, line.end) if not isinstance(i, Queued)]
        if any(_begins_turn(item) for item in items):
            begins_at = line.start
        elif items and begins_at is not None:
            turns += 1
            if turns == _TAIL_TURNS:
                return begins_at
            begins_at = None
    return 0


def _begins_turn(item: Item) -> bool:
    return isinstance(item, Prompt) and item.kind in (PromptKind.HUMAN, PromptKind.PEER)


def _lines_backwards(file: BinaryIO, size: int) -> Iterator[_Line]:
    """Whole lines from the end of the file to its start."""
    at, line_end, parts, kept = size, size, [b""], 0
    while at > 0:
        step = min(_CHUNK_BYTES, at)
        at -= step
        file.seek(at)
        pieces = file.read(step).split(b"\n")
        piece_end = at + step
        for i in range(len(pieces) - 1, 0, -1):
            line_start = piece_end - len(pieces[i])
            yield _Line(line_start, line_end, b"".join([pieces[i], *reversed(parts)]))
            line_end, piece_end, parts, kept = line_start, line_start - 1, [], 0
        if kept <= LINE_LIMIT_BYTES:
            parts.append(pieces[0])
            kept += len(pieces[0])
        else:
            parts = []
    if line_end > 0:
        yield _Line(0, line_end, b"".join(reversed(parts)))
