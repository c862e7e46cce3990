"""All agents' sessions, the rules on them, and which one a client means."""

import asyncio
from collections.abc import Mapping, Sequence

from gateway import routing
from gateway.agents.protocol import Agent
from gateway.errors import Forbidden, GatewayError, NotFound
from gateway.model import Session
from gateway.policy import Policy, Ruled
from gateway.settings.model import Sessions as SessionRules
from gateway.store import ClientState, Store


class Sessions:
    """Finds sessions across the agent runtimes."""

    def __init__(self, agents: Sequence[Agent], store: Store, rules: SessionRules) -> None:
        self._agents: Mapping[str, Agent] = {agent.name: agent for agent in agents}
        self._store = store
        self._rules = rules
        self._policy = Policy(rules, store)
        self._remembered: set[tuple[str, str, str]] = set()

    async def live(self) -> Sequence[Ruled]:
        """Every live session with the verdict of the rules on it."""
        lists = await asyncio.gather(*(agent.list() for agent in self._agents.values()))
        sessions = [session for found in lists for session in found]
        fresh = [s for s in sessions if (s.id, s.name, s.process.key) not in self._remembered]
        if fresh:
            await self._store.remember(fresh)
            self._remembered = {(s.id, s.name, s.process.key) for s in sessions}
        return await self._policy.rule(sessions)

    def agent_of(self, session: Session) -> Agent:
        """The runtime that this session belongs to."""
        agent = self._agents.get(session.runtime)
        if agent is None:
            raise NotFound("session_dead", {"name": session.name})
        return agent

    async def choose(
        self, spoken: str, client: ClientState, *, goes_back: bool, may_be_gone: bool
    ) -> Session:
        """The session that is meant by a spoken name, or by naming none.

        Without a name: the one that spoke last (`goes_back`), the client's current one, the default
        one, the only one. Raises NotFound, Conflict or Forbidden, with what could be said instead.
        """
        ruled = await self.live()
        allowed = [one.session for one in ruled if not one.why_not]
        if not routing.is_absent(spoken, allowed):
            return await self._named(spoken, ruled, may_be_gone=may_be_gone)
        for session_id, process in _own(client, goes_back=goes_back):
            if session_id or process:
                return await self._again(session_id, process, allowed, may_be_gone=may_be_gone)
        if self._rules.default_session:
            return await self._named(self._rules.default_session, ruled, may_be_gone=may_be_gone)
        return _only(allowed)

    async def _named(self, spoken: str, ruled: Sequence[Ruled], *, may_be_gone: bool) -> Session:
        allowed = [one.session for one in ruled if not one.why_not]
        try:
            return routing.resolve(spoken, allowed, self._rules.aliases)
        except NotFound as not_found:
            await self._explain(spoken, ruled)
            gone = await self._gone()
            found = _resolved(spoken, gone, self._rules.aliases)
            if found is None:
                raise
            if not may_be_gone:
                raise NotFound("session_dead", {"name": found.name}) from not_found
            return found

    async def _explain(self, spoken: str, ruled: Sequence[Ruled]) -> None:
        """Raise Forbidden where the name is that of a session which the rules keep back."""
        kept_back = [one.session for one in ruled if one.why_not]
        session = _resolved(spoken, kept_back, self._rules.aliases)
        if session is not None:
            why_not = next(one.why_not for one in ruled if one.session is session)
            raise Forbidden(why_not, {"name": session.name})

    async def _again(
        self, session_id: str, process: str, allowed: Sequence[Session], *, may_be_gone: bool
    ) -> Session:
        """The session a client talked to before: its process counts, since a conversation changes its id."""
        for session in allowed:
            if session.process.key == process:
                return session
        for session in allowed:
            if session.id == session_id:
                return session
        for session in await self._gone():
            if session.id == session_id:
                if may_be_gone:
                    return session
                raise NotFound("session_dead", {"name": session.name})
        raise NotFound("no_sessions") if not allowed else _which(allowed)

    async def _gone(self) -> Sequence[Session]:
        """Remembered sessions that the rules allow; of several with one name only the latest."""
        ruled = await self._policy.rule(await self._store.remembered())
        latest: dict[str, Session] = {}
        for one in ruled:
            if not one.why_not:
                latest.setdefault(routing.normal(one.session.name), one.session)
        return list(latest.values())


def _own(client: ClientState, *, goes_back: bool) -> Sequence[tuple[str, str]]:
    current, spoke = (client.session_id, client.process), (client.spoke_session_id, client.spoke_process)
    return (spoke, current) if goes_back else (current,)


def _only(allowed: Sequence[Session]) -> Session:
    reachable = [session for session in allowed if session.takes_messages]
    if len(reachable) == 1:
        return reachable[0]
    if not allowed:
        raise NotFound("no_sessions")
    if len(allowed) == 1:
        return allowed[0]
    raise _which(reachable or allowed)


def _which(sessions: Sequence[Session]) -> NotFound:
    names = routing.labels(sessions)
    return NotFound("which_session", candidates=names)


def _resolved(spoken: str, sessions: Sequence[Session], aliases: Mapping[str, str]) -> Session | None:
    try:
        return routing.resolve(spoken, sessions, aliases)
    except GatewayError:
        return None
