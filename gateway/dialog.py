"""THE use case: a client says something, and hears what the session makes of it.

Every door calls this and there is no second path around it. It yields events (words
heard, progress, sentences, settled); a door writes the reply inside `handing_over`, and only
when it was written whole does the client's cursor move.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from gateway import notes
from gateway.agents.protocol import Mark
from gateway.clock import Clock
from gateway.cursors import Cursors
from gateway.delivery import Courier
from gateway.errors import BadRequest, Conflict, Forbidden, TooLargeRequest, Unavailable
from gateway.hearing import Hearing
from gateway.listening import Found, Listener, Wanted
from gateway.model import Reply, Session, State
from gateway.sessions import Sessions
from gateway.settings.settings import Settings
from gateway.speech import Said, Speech
from gateway.spoken_commands import Command, SpokenCommands
from gateway.store import Claim, Delivery, Heard, Store
from gateway.utterance import Event, Progress, Sentence, Settled, Utterance, WordsHeard
from gateway.waiting_line import WaitingLine
from voice.sentences import split

MESSAGE_LIMIT_BYTES = 64 * 1024
_PROGRESS_KEPT = 1024
_HAND_OVER_S = 2.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What a dialog is made of."""

    settings: Settings
    store: Store
    sessions: Sessions
    hearing: Hearing
    speech: Speech
    commands: SpokenCommands
    cursors: Cursors
    clock: Clock


class Dialog:
    """One conversation for all doors."""

    def __init__(self, parts: Parts) -> None:
        self._settings = parts.settings
        self._store = parts.store
        self._sessions = parts.sessions
        self._hearing = parts.hearing
        self._speech = parts.speech
        self._commands = parts.commands
        self._cursors = parts.cursors
        self._clock = parts.clock
        line = WaitingLine()
        self._listener = Listener(parts.store, parts.speech, parts.clock, line)
        self._courier = Courier(parts.store, self._listener, line)
        self._handing_over: dict[str, list[asyncio.Future[None]]] = {}
        self._last_progress: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def converse(self, utterance: Utterance) -> AsyncIterator[Event]:
        """Everything that comes of an utterance, ending with `Settled`. Raises GatewayError."""
        if writing := self._handing_over.get(utterance.client):
            await asyncio.wait(list(writing), timeout=_HAND_OVER_S)
        words = utterance.words
        dropped: tuple[str, ...] = ()
        if utterance.recording is not None:
            heard = await self._hearing.words(utterance.recording)
            words, dropped = heard.text, heard.dropped
            yield WordsHeard(words, dropped)
        command = None if utterance.is_literal else self._commands.recognise(words)
        if command is not None:
            settled = await self._on_command(command, utterance)
        else:
            settled = None
            async for event in self._talk(replace(utterance, words=words)):
                if isinstance(event, Progress):
                    yield event
                else:
                    settled = event
        assert settled is not None
        said_back = self._said_back(words, dropped) if utterance.recording is not None else None
        settled = replace(settled, reply=replace(settled.reply, heard=said_back))
        for sentence in split(settled.reply.say):
            yield Sentence(sentence)
        yield settled

    @asynccontextmanager
    async def handing_over(self, heard: Heard) -> AsyncIterator[None]:
        """A door writes the end of a reply inside; if that succeeds, what it told is not new any more.

        The same client's next request waits for the bookkeeping, so that it cannot hear an
        answer twice by being quick.
        """
        done = asyncio.get_running_loop().create_future()
        self._handing_over.setdefault(heard.client, []).append(done)
        try:
            yield
            await asyncio.shield(asyncio.ensure_future(self._store.heard(heard)))
        finally:
            done.set_result(None)
            writing = self._handing_over[heard.client]
            writing.remove(done)
            if not writing:
                del self._handing_over[heard.client]

    async def close(self) -> None:
        """Let messages that are on their way arrive."""
        await self._courier.close()

    async def _talk(self, utterance: Utterance) -> AsyncIterator[Progress | Settled]:
        has_words = bool(utterance.words.strip())
        client = await self._store.client(utterance.client)
        session = await self._sessions.choose(
            utterance.session,
            client,
            goes_back=utterance.goes_back and has_words,
            may_be_gone=not has_words,
        )
        if utterance.expect_id is not None and utterance.expect_id != session.id:
            raise Conflict("session_moved", {"name": session.name})
        if has_words:
            wanted = await self._deliver(utterance, session)
        else:
            wanted = await self._ask_back(utterance, session)
        agent = self._sessions.agent_of(session)
        async for found in self._listener.listen(agent, wanted):
            if isinstance(found, str):
                yield Progress(found)
            else:
                yield await self._settle(utterance, wanted, found)

    async def _deliver(self, utterance: Utterance, session: Session) -> Wanted:
        """Send the words, once, and say what to listen for."""
        self._check(utterance, session)
        agent = self._sessions.agent_of(session)
        view = await agent.follow(session).view(None)
        mark = await self._store.mark(utterance.client, session)
        is_fresh = mark is None
        if mark is None:
            mark = Mark(view.end, view.last.record_id if view.last else "")
            await self._store.set_mark(utterance.client, session, mark)
        claim = Claim(
            client=utterance.client,
            request_id=utterance.request_id,
            session=session,
            message_id=str(uuid.uuid4()),
            nonce=notes.new_nonce(),
            words=utterance.words,
            mark=Mark(view.end, ""),
            join_s=self._settings.dialog.join_s if utterance.is_joining else 0.0,
        )
        delivery = await self._courier.deliver(agent, claim, self._note_lines(utterance))
        await self._store.choose(utterance.client, session)
        return Wanted(
            session=session,
            mark=mark,
            delivery=delivery,
            deadline=utterance.began_at + utterance.wait_s,
            waiting=tuple(await self._store.waiting(utterance.client, session)),
            is_exact=delivery.heard_at is not None,
            is_ask=True,
            is_fresh=is_fresh,
        )

    def _check(self, utterance: Utterance, session: Session) -> None:
        if len(utterance.words.encode()) > MESSAGE_LIMIT_BYTES:
            raise TooLargeRequest("message_too_long")
        if self._settings.sessions.readonly:
            raise Forbidden("session_readonly")
        if not session.takes_messages:
            raise Unavailable("session_unreachable", {"name": session.name})

    def _note_lines(self, utterance: Utterance) -> list[str]:
        switches = utterance.switches
        names = ["about"]
        names += ["relay_discipline"] if switches.relay_discipline else []
        names += ["plain_questions"] if switches.plain_questions else []
        return [notes.LINES[name] for name in names]

    async def _ask_back(self, utterance: Utterance, session: Session) -> Wanted:
        """What to listen for when a client asks what is new."""
        mark = await self._store.mark(utterance.client, session)
        if utterance.since is not None:
            mark = self._cursors.read(utterance.since, session.id)
        waiting = await self._store.waiting(utterance.client, session)
        delivery: Delivery | None = waiting[-1] if waiting and utterance.since is None else None
        if utterance.request_id is not None:
            delivery = await self._store.delivery(utterance.client, utterance.request_id)
            if delivery is None:
                raise BadRequest("unknown_request")
        return Wanted(
            session=session,
            mark=mark,
            delivery=delivery,
            deadline=utterance.began_at + utterance.wait_s,
            waiting=tuple(waiting),
            is_exact=utterance.request_id is not None,
        )

    async def _settle(self, utterance: Utterance, wanted: Wanted, found: Found) -> Settled:
        if found.said is None:
            return self._working(utterance, wanted, found)
        say, page = self._speech.page(found.said, found.session)
        is_new = found.said.state is not State.FINISHED or found.mark is not None
        heard = Heard(
            client=utterance.client,
            session=found.session,
            mark=found.mark if utterance.since is None and found.is_next else None,
            reply=page if is_new else None,
            delivery_ids=found.heard_ids,
            is_answer=is_new,
        )
        reply = Reply(
            state=found.said.state,
            say=say,
            session=found.session,
            more=bool(page.rest),
            cursor=self._cursors.write((found.mark or found.here).position),
            delivery=found.outcome,
            question=found.said.question,
            message_id=wanted.delivery.message_id if wanted.delivery else None,
        )
        return Settled(reply, heard)

    def _working(self, utterance: Utterance, wanted: Wanted, found: Found) -> Settled:
        key = (utterance.client, found.session.id)
        progress = found.progress if self._settings.dialog.progress else ""
        if progress == self._last_progress.get(key):
            progress = ""
        elif progress:
            self._last_progress[key] = progress
            self._last_progress.move_to_end(key)
        while len(self._last_progress) > _PROGRESS_KEPT:
            self._last_progress.popitem(last=False)
        reply = Reply(
            state=State.WORKING,
            say=self._speech.working(progress),
            session=found.session,
            cursor=self._cursors.write(found.here.position),
            delivery=found.outcome,
            message_id=wanted.delivery.message_id if wanted.delivery else None,
        )
        return Settled(reply, Heard(client=utterance.client))

    async def _on_command(self, command: Command, utterance: Utterance) -> Settled:
        """ "More" and "repeat" are answered from what this client was told last."""
        last = await self._store.last_reply(utterance.client)
        if last is None or (command is Command.MORE and not last.rest):
            key = "nothing_more" if command is Command.MORE else "nothing_to_repeat"
            reply = Reply(State.FINISHED, self._speech.say(key))
            return Settled(reply, Heard(client=utterance.client))
        if command is Command.REPEAT:
            reply = Reply(last.state, last.said[0], more=bool(last.rest), question=last.question)
            return Settled(reply, Heard(client=utterance.client))
        say, page = self._speech.page(Said(last.state, last.rest), None)
        page = replace(page, session_id=last.session_id, question=last.question)
        reply = Reply(last.state, say, more=bool(page.rest), question=last.question)
        return Settled(reply, Heard(client=utterance.client, reply=page))

    def _said_back(self, words: str, dropped: tuple[str, ...]) -> str:
        """What a recording was taken for; artefacts that were left out are said."""
        if not dropped:
            return words
        return f"{words} ({self._speech.say('audio_repeat_dropped')})"
