"""The voice paths: ask, reply, sessions, ping."""

import asyncio
from dataclasses import dataclass

from aiohttp import web

from gateway.dialog import Dialog
from gateway.doors import replies
from gateway.doors.call import Call
from gateway.doors.writing import Writer
from gateway.errors import BadRequest, GatewayError
from gateway.model import Reply, Session, State, Status
from gateway.phrases import Phrases
from gateway.policy import Ruled
from gateway.sessions import Sessions
from gateway.settings.settings import Settings
from gateway.utterance import Settled, Switches, Utterance

MAX_WAIT_S = 45.0
VOICE_WAIT_S = 10.0
MAX_DELAY_S = 60.0
_LISTED = 6
_STATUS_PHRASES = {Status.BUSY: "session_working", Status.WAITING: "session_waiting"}


@dataclass(frozen=True, slots=True)
class VoicePaths:
    """Handlers of the voice paths."""

    settings: Settings
    phrases: Phrases
    dialog: Dialog
    sessions: Sessions
    writer: Writer

    async def ask(self, call: Call) -> web.StreamResponse:
        """Deliver a prompt, wait, answer."""
        if not _has_prompt(call):
            raise BadRequest("empty_message")
        return await self._converse(call, self._utterance(call, goes_back=False))

    async def reply(self, call: Call) -> web.StreamResponse:
        """What is new; with words like ask. A HEAD is a probe and has no effect."""
        if call.request.method == "HEAD":
            probe = Reply(State.FINISHED, self.phrases.say("nothing_new"))
            return await self.writer.hand_over(call, replies.of_reply(probe))
        return await self._converse(call, self._utterance(call, goes_back=True))

    async def listed(self, call: Call) -> web.StreamResponse:
        """The sessions, as one spoken line or as a list."""
        shows_all = call.fields.flag("all", False)
        ruled = await self.sessions.live()
        shown = [one for one in ruled if shows_all or (not one.why_not and one.session.takes_messages)]
        answer = replies.of_reply(Reply(State.FINISHED, self._line(shown)))
        answer.data["sessions"] = [session_row(one, self.phrases) for one in shown]
        return await self.writer.hand_over(call, answer)

    async def ping(self, call: Call) -> web.StreamResponse:
        """Ready; on request as late as asked, to measure a phone's patience."""
        await asyncio.sleep(min(max(call.fields.number("delay", 0.0), 0.0), MAX_DELAY_S))
        reply = Reply(State.FINISHED, self.phrases.say("ping"))
        return await self.writer.hand_over(call, replies.of_reply(reply))

    def _utterance(self, call: Call, *, goes_back: bool) -> Utterance:
        fields, dialog = call.fields, self.settings.dialog
        words = fields.text("message")
        if call.recording is not None and words.strip():
            raise BadRequest("duplicate_field", {"field": "message"})
        wait_s = fields.number("wait", dialog.ask_wait_s if _has_prompt(call) else dialog.reply_wait_s)
        limit_s = VOICE_WAIT_S if call.is_voice_client else MAX_WAIT_S
        return Utterance(
            client=fields.text("client", "default"),
            wait_s=min(max(wait_s, 0.0), limit_s),
            began_at=call.read_at,
            words=words,
            recording=call.recording,
            session=fields.text("session"),
            goes_back=goes_back,
            request_id=fields.optional("id"),
            is_joining=fields.flag("join", True),
            since=fields.optional("since"),
            expect_id=fields.optional("expect_id"),
            is_literal=fields.flag("literal", False),
            switches=Switches(
                relay_discipline=fields.flag("relay_discipline", dialog.relay_discipline),
                plain_questions=fields.flag("plain_questions", dialog.plain_questions),
            ),
        )

    async def _converse(self, call: Call, utterance: Utterance) -> web.StreamResponse:
        settled: Settled | None = None
        async for event in self.dialog.converse(utterance):
            if isinstance(event, Settled):
                settled = event
        if settled is None:
            raise GatewayError("internal")
        return await self.writer.hand_over(call, replies.of_reply(settled.reply), settled.heard)

    def _line(self, shown: list[Ruled]) -> str:
        phrases = self.phrases
        if not shown:
            return phrases.say("no_sessions")
        names = [_spoken(one.session, phrases) for one in shown[:_LISTED]]
        if len(shown) == 1:
            return phrases.say("sessions_one", session=names[0])
        say = phrases.say("sessions_list", count=phrases.number(len(shown)), sessions="; ".join(names))
        if len(shown) > _LISTED:
            say += " " + phrases.say("sessions_left_out", count=phrases.number(len(shown) - _LISTED))
        return f"{say[:1].upper()}{say[1:]}"


def session_row(one: Ruled, phrases: Phrases) -> dict[str, object]:
    """One session as JSON."""
    session = one.session
    why = one.why_not or session.why_not
    values = {"name": session.name} if one.why_not else {}
    return {
        "id": session.id,
        "name": session.name,
        "state": session.status.value,
        "directory": session.directory,
        "pid": session.process.pid,
        "runtime": session.runtime,
        "can_be_driven": not why,
        "why_not": phrases.say(why, turn=0, **values) if why else "",
    }


def _has_prompt(call: Call) -> bool:
    return bool(call.fields.text("message").strip()) or call.recording is not None


def _spoken(session: Session, phrases: Phrases) -> str:
    return phrases.say(_STATUS_PHRASES.get(session.status, "session_idle"), name=session.name)
