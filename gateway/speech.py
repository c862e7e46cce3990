"""From turns and questions to what is spoken: whole sentences, one page at a time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gateway.agents.turns import Text, ToolUse, Turn
from gateway.model import Question, QuestionKind, Session, State
from gateway.phrases import Phrases, guard_marker, working
from gateway.questions import find_question
from gateway.store import LastReply
from gateway.verdict import FORM_TOOL, End, Waiting, end_of
from voice.characters import clean
from voice.pages import cut, join
from voice.speakable import speakable

_FAILURES = {
    "overloaded": "api_error_overloaded",
    "rate_limit": "api_error_overloaded",
    "authentication": "api_error_auth",
    "full": "api_error_full",
}

EARLIER_WORDS = 25
"""Answers that are only mentioned at the head of another are cut to this many words, all together."""

_NOT_WORDS = re.compile(r"[\W_]+")
_OWN_KEY = re.compile(r"^(?P<key>[A-Za-z]|\d{1,2})[.):]\s+(?P<label>\S.*)$", re.DOTALL)


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
        answer = _joined(turn.answer(after))
        spoken = speakable(answer, self.phrases.notices)
        match end:
            case End.API_ERROR:
                return Said(State.ERROR, (self._failure(turn.error),))
            case End.INTERRUPTED | End.DISMISSED:
                return Said(State.ERROR, (self.say(end.value),))
            case End.DIED:
                return Said(State.ERROR, (self.say("ended", name=session.name), *spoken))
            case End.CUT:
                return Said(State.FINISHED, (*spoken, self.say("cut_answer")))
            case End.REFUSED:
                return Said(State.FINISHED, (self.say("refusal"), *spoken))
        if not spoken:
            return Said(State.FINISHED, (self.say("empty_answer"),))
        question = find_question(answer)
        if question is None:
            return Said(State.FINISHED, spoken)
        return self._asking(spoken, question)

    def _asking(self, spoken: tuple[str, ...], question: Question) -> Said:
        """An answer that asks, with the options it lists numbered."""
        labels = [speakable(option, self.phrases.notices) for option in question.options]
        options = tuple(join(label).rstrip(" .") for label in labels)
        text = join(speakable(question.text, self.phrases.notices))
        question = replace(question, text=text or question.text, options=tuple(o for o in options if o))
        if question.options and len(question.options) == len(labels):
            spoken = self._numbered(spoken, labels)
        return Said(State.NEEDS_ANSWER, spoken, question)

    def _numbered(self, spoken: tuple[str, ...], labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """The same sentences with those of list items said as options; as they are if one is not found."""
        numbered, at = list(spoken), 0
        if not all(labels):
            return spoken
        for number, label in enumerate(labels, start=1):
            found = next((i for i in range(at, len(numbered)) if _is_item(numbered[i], label[0])), None)
            if found is None:
                return spoken
            numbered[found] = self._option(number, label[0].rstrip(" ."))
            at = found + 1
        return tuple(numbered)

    def of_waiting(self, waiting: Waiting, turn: Turn | None) -> Said:
        """What a session waits for that can only be given in the session itself."""
        open_tools = turn.open_tools if turn else ()
        match waiting:
            case Waiting.FORM:
                return self._of_form(_form(open_tools))
            case Waiting.PERMISSION:
                question = Question(QuestionKind.PERMISSION, self._permission(open_tools[0]))
                lead: tuple[str, ...] = (self.say("permission"),)
            case Waiting.HELD:
                question, lead = Question(QuestionKind.PERMISSION, self.say("held")), ()
            case Waiting.DIALOG:
                question, lead = Question(QuestionKind.PERMISSION, self.say("dialog_open")), ()
        return Said(State.NEEDS_ANSWER, speakable(question.text, self.phrases.notices), question, lead)

    def _of_form(self, form: Sequence[Question]) -> Said:
        """An open form: each of its questions with its own options, numbered from one."""
        if not form:
            form = (Question(QuestionKind.FORM, self.say("form_unseen")),)
        sentences = tuple(
            sentence
            for one in form
            for sentence in (*speakable(one.text, self.phrases.notices), *self._options(one))
        )
        text = " ".join(one.text for one in form)
        question = Question(QuestionKind.FORM, text, tuple(o for one in form for o in one.options))
        return Said(State.NEEDS_ANSWER, sentences, question, (self.say("form"),))

    def earlier(self, unheard: Sequence[Said]) -> str:
        """Answers that were not heard yet, as a few words before another one; the latest have the room."""
        shown = unheard[-3:]
        texts = [_shortened(join(said.sentences), EARLIER_WORDS // len(shown)) for said in shown]
        return self.say("earlier_answer", text=" ".join(texts))

    def page(self, said: Said, session: Session | None) -> tuple[str, LastReply]:
        """The first page of what there is to say, and what is kept for "repeat" and "more"."""
        room = max(1, self._max_words - _count(said.lead))
        hint = self.say("more_hint")
        asked = self._asked(said)
        if asked and _count(said.sentences) > room:
            # The question must be heard, so it closes the first page; what was left out follows on "more".
            others = _without(said.sentences, asked)
            closing = cut(asked, max(1, room * 2 // 3), "") if others else cut(asked, room, hint)
            page = cut(others, max(1, room - _count((closing.text,))), hint)
            texts, rest = (*said.lead, page.text, closing.text), (*closing.rest, *page.rest)
        else:
            page = cut(said.sentences, room, hint)
            texts, rest = (*said.lead, page.text), page.rest
        text = guard_marker(join(texts)) or self.say("empty_answer")
        session_id = session.id if session else ""
        return text, LastReply(session_id, (text,), rest, said.state, said.question)

    def working(self, progress: str) -> str:
        """The sentence for a session that has not settled."""
        return working(progress)

    def _asked(self, said: Said) -> tuple[str, ...]:
        if said.question is None or said.question.kind is not QuestionKind.TEXT:
            return ()
        return (*speakable(said.question.text, self.phrases.notices), *self._options(said.question))

    def _options(self, question: Question) -> tuple[str, ...]:
        return tuple(self._option(i, self._label(label)) for i, label in enumerate(question.options, start=1))

    def _option(self, number: int, label: str) -> str:
        """An option; one that names itself ("A: patch it") keeps that name."""
        own = _OWN_KEY.match(label)
        if own is not None:
            return self.say("option", number=own["key"], label=own["label"])
        return self.say("option", number=self.phrases.number(number), label=label)

    def _label(self, label: str) -> str:
        return join(speakable(label, self.phrases.notices)).rstrip(" .")

    def _failure(self, kind: str) -> str:
        return self.say(_FAILURES.get(kind, "api_error"))

    def _permission(self, tool: ToolUse) -> str:
        match tool.name:
            case "Bash":
                purpose = _words(tool.input.get("description")).strip()
                key = "permission_command_for" if purpose else "permission_command"
                return self.say(key, **({"purpose": purpose} if purpose else {}))
            case "Write" | "Edit" | "MultiEdit" | "NotebookEdit":
                path = _words(tool.input.get("file_path")) or _words(tool.input.get("notebook_path"))
                return self.say("permission_file", file=path.rpartition("/")[2] or "a file")
            case "ExitPlanMode":
                return self.say("permission_plan")
        return self.say("permission_tool", tool=tool.name or "a tool")


def _form(open_tools: tuple[ToolUse, ...]) -> Sequence[Question]:
    """The questions of an open form, as far as they can be read."""
    tool = next((tool for tool in open_tools if tool.name == FORM_TOOL), None)
    asked = tool.input.get("questions") if tool else None
    questions: list[Question] = []
    for one in asked if isinstance(asked, list) else []:
        if not isinstance(one, dict):
            continue
        text = _words(one.get("question")).strip() or _words(one.get("header")).strip()
        given = one.get("options")
        labels = (
            [o.get("label") if isinstance(o, dict) else o for o in given] if isinstance(given, list) else []
        )
        options = tuple(label for label in (_words(label).strip() for label in labels) if label)
        if text:
            questions.append(Question(QuestionKind.FORM, text, options))
    return questions


def _words(value: object) -> str:
    """A string of a tool call, fit for a reply; "" for anything else."""
    return clean(value) if isinstance(value, str) else ""


def _joined(texts: Sequence[Text]) -> str:
    """The texts as one answer; what the model's limit broke off goes on in the middle of its sentence."""
    answer = ""
    for i, text in enumerate(texts):
        is_continued = i > 0 and texts[i - 1].stop_reason == "max_tokens"
        seam = "" if is_continued else "\n\n"
        if is_continued and answer[-1:].isalnum() and text.text[:1].isalnum():
            seam = " "
        answer += (seam if answer else "") + text.text
    return answer


def _shortened(text: str, limit_words: int) -> str:
    words = text.split()
    return " ".join(words[:limit_words]) + ("…" if len(words) > limit_words else "")


def _plain(sentence: str) -> str:
    return _NOT_WORDS.sub(" ", sentence.casefold()).strip()


def _is_item(sentence: str, label: str) -> bool:
    """The sentence is this list item, with its number or without."""
    said, wanted = _plain(sentence), _plain(label)
    number, _, after = said.partition(" ")
    return bool(wanted) and (said == wanted or (number.isalnum() and after == wanted))


def _without(sentences: Sequence[str], said_elsewhere: Sequence[str]) -> tuple[str, ...]:
    """The sentences but those, each left out once, where it stands last."""
    left = list(sentences)
    for sentence in said_elsewhere:
        at = next((i for i in range(len(left) - 1, -1, -1) if left[i] == sentence), None)
        if at is not None:
            del left[at]
    return tuple(left)


def _count(sentences: Sequence[str]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)
