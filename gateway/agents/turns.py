"""A conversation as turns, whatever runtime wrote it.

A turn begins with a prompt and holds what the agent said and did until it came to
an end. Which texts are its answer, and whether it is over, is decided from here.
"""

from dataclasses import dataclass
from enum import StrEnum


class PromptKind(StrEnum):
    """Who put a prompt to the session."""

    HUMAN = "human"
    PEER = "peer"
    BACKGROUND = "background"
    ABSORBED = "absorbed"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message that the session took in. `message_id` and `nonces` say whether it is one of ours.

    `record_id` is that of its line, "" where it has none.
    """

    kind: PromptKind
    offset: int
    text: str = ""
    message_id: str = ""
    nonces: frozenset[str] = frozenset()
    record_id: str = ""

    def carries(self, message_id: str, nonce: str) -> bool:
        """It is the message with this id, or holds this note's nonce."""
        return (bool(message_id) and self.message_id == message_id) or nonce in self.nonces


@dataclass(frozen=True, slots=True)
class Text:
    """One text of the agent; `start`/`end` are byte offsets of its line."""

    start: int
    end: int
    text: str
    record_id: str = ""
    message_id: str = ""
    stop_reason: str = ""
    is_aborted: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call; `is_open` until its result stands in the transcript, `input` is kept only that long."""

    id: str
    name: str
    input: dict[str, object]
    is_open: bool = True


class Ending(StrEnum):
    """How a turn came to an end, as the transcript shows it."""

    DONE = "done"
    AGENTS_PENDING = "agents_pending"
    API_ERROR = "api_error"
    INTERRUPTED = "interrupted"
    SUPERSEDED = "superseded"


class LastRecord(StrEnum):
    """What kind of record came last in a turn."""

    PROMPT = "prompt"
    TEXT = "text"
    ACTIVITY = "activity"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. `texts` are all it said; those from `answer_from` on followed its last tool call.

    `record_id` is that of its latest line which has one: it finds the place again in a copy.
    """

    start: int
    end: int
    prompts: tuple[Prompt, ...]
    texts: tuple[Text, ...]
    answer_from: int
    tools: tuple[ToolUse, ...]
    last: LastRecord
    ending: Ending | None = None
    error: str = ""
    is_cut: bool = False
    record_id: str = ""

    @property
    def open_tools(self) -> tuple[ToolUse, ...]:
        """Tool calls without a result."""
        return tuple(tool for tool in self.tools if tool.is_open)

    def answer(self, after: int = 0) -> tuple[Text, ...]:
        """The texts that are its answer and end behind the offset `after`.

        What a refusal broke off is left out where more came after it.
        """
        said = [text for text in self.texts[self.answer_from :] if text.text.strip()]
        kept = [text for i, text in enumerate(said) if text.stop_reason != "refusal" or i == len(said) - 1]
        return tuple(text for text in kept if text.end > after)

    def took(self, message_id: str, nonce: str) -> Prompt | None:
        """The prompt of this turn that is the given message, if any."""
        return next((prompt for prompt in self.prompts if prompt.carries(message_id, nonce)), None)
