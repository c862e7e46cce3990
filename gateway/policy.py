"""Which sessions may be driven: the settings' allow and deny lists, and never ourselves.

An entry is a name, alias, directory or id. It is looked at once for each process and
then bound to it, so a session that is renamed later neither gains nor loses by that.
"Self" is a session whose process started this gateway: an agent must not be made to
drive itself by accident.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from gateway import platform_process
from gateway.model import Session
from gateway.routing import normal
from gateway.settings.model import Sessions as SessionRules
from gateway.store import Store


@dataclass(frozen=True, slots=True)
class Ruled:
    """A session and why it may not be driven: "" where it may, else a phrase key."""

    session: Session
    why_not: str


class Policy:
    """Applies the rules."""

    def __init__(self, rules: SessionRules, store: Store) -> None:
        self._rules = rules
        self._store = store
        self._entries = [f"allow:{e}" for e in rules.allow] + [f"deny:{e}" for e in rules.deny]
        self._decided: dict[tuple[str, str], bool] = {}

    async def rule(self, sessions: Sequence[Session]) -> Sequence[Ruled]:
        """Each session with the verdict on it."""
        if self._entries:
            await self._bind(sessions)
        parents = (
            frozenset(platform_process.ancestors(os.getpid())) if not self._rules.allow_self else frozenset()
        )
        return [Ruled(session, self._why_not(session, parents)) for session in sessions]

    async def _bind(self, sessions: Sequence[Session]) -> None:
        fresh = [
            (session.process.key, entry, self._matches(entry.partition(":")[2], session))
            for session in sessions
            for entry in self._entries
            if (session.process.key, entry) not in self._decided
        ]
        if fresh:
            self._decided = await self._store.bind(fresh)

    def _matches(self, entry: str, session: Session) -> bool:
        name = self._rules.aliases.get(entry, entry)
        known = (session.name, session.registry_name, session.id, session.directory)
        sounds_alike = bool(normal(name)) and normal(name) == normal(session.name)
        return name in known or sounds_alike or _is_inside(session.directory, name)

    def _why_not(self, session: Session, parents: frozenset[int]) -> str:
        if session.process.pid in parents:
            return "session_self"
        key = session.process.key
        if any(self._decided.get((key, f"deny:{entry}")) for entry in self._rules.deny):
            return "session_forbidden"
        if self._rules.allow and not any(
            self._decided.get((key, f"allow:{entry}")) for entry in self._rules.allow
        ):
            return "session_forbidden"
        return ""


def _is_inside(directory: str, entry: str) -> bool:
    return entry.startswith("/") and PurePath(directory).is_relative_to(PurePath(entry))
