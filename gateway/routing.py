"""From a spoken session name to one session, or to a question which one is meant. Pure.

Exact names come first, then names that are equal once written the way they are said,
then aliases, directories, ids and pids. There is no guessing: what matches nothing,
or more than one session, is asked back.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from gateway.errors import Conflict, NotFound
from gateway.model import Session

MAX_CANDIDATES = 3
_MIN_ID_PREFIX = 6
_ABSENT = ("", "last", "current")
_SPOKEN_MARKS = frozenset({"dash", "hyphen", "underscore", "dot"})
# Said around a name, never inside it: "the api session, please".
_LEADING = frozenset({"the", "my", "session", "called", "named"})
_TRAILING = frozenset({"session", "please"})
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}
_PIECE = re.compile(r"[^\W\d_]+|\d+")


def is_absent(spoken: str, sessions: Sequence[Session]) -> bool:
    """No session was named: empty, "last" or "current", unless a session is called just that."""
    name = spoken.strip().casefold()
    return name in _ABSENT and not (name and any(session.name.casefold() == name for session in sessions))


def resolve(spoken: str, sessions: Sequence[Session], aliases: Mapping[str, str]) -> Session:
    """The one session that is meant.

    Raises Conflict (`ambiguous_session`) where several are and NotFound (`no_session`)
    where none is, both with at most three candidates to say.
    """
    for matches in _steps(spoken.strip(), sessions, aliases):
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = labels(matches)
            raise Conflict("ambiguous_session", candidates=names)
    if not sessions:
        raise NotFound("no_sessions")
    names = labels(sessions)
    raise NotFound("no_session", {"name": spoken.strip()[:60] or "that"}, names)


def labels(sessions: Sequence[Session]) -> tuple[str, ...]:
    """At most three names to say; those that share a name are told apart by their folder."""
    shown = sessions[:MAX_CANDIDATES]
    names = [session.name for session in shown]
    return tuple(session.name if names.count(session.name) == 1 else _apart(session) for session in shown)


def _steps(
    spoken: str, sessions: Sequence[Session], aliases: Mapping[str, str]
) -> Iterator[tuple[Session, ...]]:
    """Ever looser readings of what was said, each with all sessions that match it."""
    said = spoken.casefold()
    yield tuple(s for s in sessions if spoken in (s.name, s.registry_name))
    for name in _names(spoken, aliases):
        yield tuple(s for s in sessions if name.casefold() in _called(s))
        for reading in readings(name):
            yield tuple(s for s in sessions if reading in {normal(called) for called in _called(s)})
    yield tuple(s for s in sessions if s.id.casefold() == said)
    yield tuple(s for s in sessions if normal(spoken) == normal(_apart(s)))
    yield tuple(s for s in sessions if said and said in (s.directory.casefold(), _folder(s).casefold()))
    for reading in readings(spoken):
        yield tuple(s for s in sessions if normal(_folder(s)) == reading)
    yield tuple(s for s in sessions if said.isascii() and said.isdigit() and s.process.pid == int(said[:12]))
    if len(said) >= _MIN_ID_PREFIX:
        yield tuple(s for s in sessions if s.id.casefold().startswith(said))


def _names(spoken: str, aliases: Mapping[str, str]) -> Iterator[str]:
    yield spoken
    for alias, name in aliases.items():
        if alias.casefold() == spoken.casefold() or set(readings(alias)) & set(readings(spoken)):
            yield name


def _apart(session: Session) -> str:
    """A session's name where another one has the same."""
    return f"{session.name} in {_folder(session)}"


def _called(session: Session) -> frozenset[str]:
    return frozenset(name.casefold() for name in (session.name, session.registry_name) if name)


def _folder(session: Session) -> str:
    return PurePath(session.directory).name


def normal(name: str) -> str:
    """A name the way it sounds: no case, accents or punctuation, number words as digits."""
    return "".join(_pieces(name))


def readings(spoken: str) -> tuple[str, ...]:
    """What a spoken name may stand for, the most literal first; none is empty.

    Words are left out of what was said only, never out of a session's name: "motor" is not "motor-a".
    """
    pieces = _pieces(spoken)
    unmarked = [piece for piece in pieces if piece not in _SPOKEN_MARKS]
    bare = list(unmarked)
    while bare and bare[0] in _LEADING:
        bare.pop(0)
    while bare and bare[-1] in _TRAILING:
        bare.pop()
    found = ("".join(pieces), "".join(unmarked), "".join(bare))
    return tuple(reading for reading in dict.fromkeys(found) if reading)


def _pieces(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in folded if not unicodedata.combining(char))
    return [_NUMBERS.get(piece, piece) for piece in _PIECE.findall(plain)]
