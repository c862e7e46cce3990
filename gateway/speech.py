"""From turns and questions to what is spoken: whole sentences, one page at a time."""

from dataclasses import dataclass, field

from gateway.agents.turns import ToolUse, Turn
from gateway.model import Question, QuestionKind, Session, State
from gateway.phrases import Phrases, guard_marker, working
from gateway.questions import find_question
from gateway.store import LastReply
from gateway.verdict import FORM_TOOL, End, Waiting, end_of
from voice.pages import cut, join
from voice.speakable import speakable

_FAILURES = {
    "overloaded": "api_error_overloaded",
    "rate_limit": "api_error_overloaded",
    "authentication": "api_error_auth",
    "full": "api_error_full",
}

EARLIER_WORDS = 25
"""An answer that is only mentioned at the head of another is cut to this many words."""


@dataclass(frozen=True, slots=True)
class Said:
    """Everything there is to say, before it is cut to a page."""

    state: State
    sentences: tuple[str, ...]
    question: Question | None = None
    lead: tuple[str, ...] = field(default=())


class Speech:
    """Puts what happened into words of at most `max_words` at a time."""

    def __init__(self, phrases: Phrases, max_words: int) -> None:
        self.phrases = phrases
        self._max_words = max_words

    def say(self, key: str, **values: str) -> str:
        """A sentence of ours."""
        return self.phrases.say(key, turn=0, **values)

    def of_turn(self, turn: Turn, session: Session, after: int) -> Said:
        """What a turn that is over has to say behind the offset `after`."""
        end = end_of(turn, session)
        answer = "\n\n".join(text.text for text in turn.answer(after))
        spoken = speakable(answer, self.phrases.notices)
        match end:
            case End.API_ERROR:
                return Said(State.ERROR, (self._failure(turn.error),))
            case End.INTERRUPTED:
                return Said(State.ERROR, (self.say("interrupted"),))
            case End.DIED:
                return Said(State.ERROR, (self.say("ended", name=session.name), *spoken))
            case End.CUT:
                return Said(State.FINISHED, (*spoken, self.say("cut_answer")))
            case End.REFUSED:
                return Said(State.FINISHED, (self.say("refusal"), *spoken))
        if not spoken:
            return Said(State.FINISHED, (self.say("empty_answer"),))
        question = find_question(answer)
        return Said(State.NEEDS_ANSWER if question else State.FINISHED, spoken, question)

    def of_waiting(self, waiting: Waiting, turn: Turn | None) -> Said:
        """What a session waits for that can only be given in the session itself."""
        open_tools = turn.open_tools if turn else ()
        match waiting:
            case Waiting.FORM:
                question = _form(open_tools) or Question(QuestionKind.FORM, self.say("form_unseen"))
                lead: tuple[str, ...] = (self.say("form"),)
            case Waiting.PERMISSION:
                question = Question(QuestionKind.PERMISSION, self._permission(open_tools[0]))
                lead = (self.say("permission"),)
            case Waiting.HELD:
                question = Question(QuestionKind.PERMISSION, self.say("held"))
                lead = ()
            case Waiting.DIALOG:
                question = Question(QuestionKind.PERMISSION, self.say("dialog_open"))
                lead = ()
        asked = speakable(question.text, self.phrases.notices)
        return Said(State.NEEDS_ANSWER, (*asked, *self._options(question)), question, lead)

    def earlier(self, said: Said) -> str:
        """An answer that was not heard yet, as a few words before another one."""
        words = join(said.sentences).split()
        text = " ".join(words[:EARLIER_WORDS]) + ("…" if len(words) > EARLIER_WORDS else "")
        return self.say("earlier_answer", text=text)

    def page(self, said: Said, session: Session | None) -> tuple[str, LastReply]:
        """The first page of what there is to say, and what is kept for "repeat" and "more"."""
        room = self._max_words - _count(said.lead)
        sentences = said.sentences
        asked = self._asked(said)
        if asked and sum(_count((s,)) for s in sentences) > room:
            # The question must be heard, so it closes the first page; what was left out follows on "more".
            page = cut(sentences, max(1, room - _count(asked)), self.say("more_hint"))
            text = join((*said.lead, page.text, *asked))
        else:
            page = cut(sentences, max(1, room), self.say("more_hint"))
            text = join((*said.lead, page.text))
        text = guard_marker(text) or self.say("empty_answer")
        session_id = session.id if session else ""
        return text, LastReply(session_id, (text,), page.rest, said.state, said.question)

    def working(self, progress: str) -> str:
        """The sentence for a session that has not settled."""
        return working(progress)

    def _asked(self, said: Said) -> tuple[str, ...]:
        if said.question is None or said.question.kind is not QuestionKind.TEXT:
            return ()
        asked = (*speakable(said.question.text, self.phrases.notices), *self._options(said.question))
        limit = self._max_words * 2 // 3
        return asked if _count(asked) <= limit else (cut(asked, limit, "").text,)

    def _options(self, question: Question) -> tuple[str, ...]:
        return tuple(
            self.say("option", number=self.phrases.number(i), label=self._label(label))
            for i, label in enumerate(question.options, start=1)
        )

    def _label(self, label: str) -> str:
        return join(speakable(label, self.phrases.notices)).rstrip(" .")

    def _failure(self, kind: str) -> str:
        return self.say(_FAILURES.get(kind, "api_error"))

    def _permission(self, tool: ToolUse) -> str:
        match tool.name:
            case "Bash":
                described = tool.input.get("description")
                if isinstance(described, str) and described.strip():
                    return self.say("permission_command_for", purpose=described.strip())
                return self.say("permission_command")
            case "Write" | "Edit" | "MultiEdit" | "NotebookEdit":
                path = tool.input.get("file_path") or tool.input.get("notebook_path")
                return self.say("permission_file", file=str(path or "").rpartition("/")[2] or "a file")
            case "ExitPlanMode":
                return self.say("permission_plan")
        return self.say("permission_tool", tool=tool.name or "a tool")


def _form(open_tools: tuple[ToolUse, ...]) -> Question | None:
    """The questions of an open form as one; options are numbered through."""
    tool = next((tool for tool in open_tools if tool.name == FORM_TOOL), None)
    asked = tool.input.get("questions") if tool else None
    if not isinstance(asked, list):
        return None
    texts: list[str] = []
    options: list[str] = []
    for one in asked:
        if not isinstance(one, dict):
            continue
        texts.append(str(one.get("question") or one.get("header") or ""))
        given = one.get("options")
        for option in given if isinstance(given, list) else []:
            label = option.get("label") if isinstance(option, dict) else option
            if isinstance(label, str) and label.strip():
                options.append(label.strip())
    text = " ".join(text.strip() for text in texts if text.strip())
    return Question(QuestionKind.FORM, text, tuple(options)) if text else None


def _count(sentences: tuple[str, ...]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)
