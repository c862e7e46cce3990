"""Transcript entries, in file order → turns. Pure: no files, no clock.

File order decides, never a timestamp: lines are flushed in batches and can carry
earlier times than their neighbours.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from gateway.agents.claude_code.lines import (
    Activity,
    ApiFailure,
    Interruption,
    Item,
    LocalCommand,
    Queued,
    Title,
    ToolsDone,
    TurnOver,
)
from gateway.agents.turns import Ending, LastRecord, Prompt, PromptKind, Text, ToolUse, Turn

KEPT_TURNS = 24
"""How many turns are kept in memory; older ones are read from the file again when they are asked for."""

_KEPT_QUEUED = 64
_AGENT_TOOLS = ("Agent", "Task")


@dataclass(slots=True)
class _Open:
    """A turn while it is being built."""

    start: int
    end: int
    prompts: list[Prompt] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    answer_from: int = 0
    tools: dict[str, ToolUse] = field(default_factory=dict)
    last: LastRecord = LastRecord.PROMPT
    ending: Ending | None = None
    error: str = ""
    is_cut: bool = False
    record_id: str = ""

    @property
    def has_begun(self) -> bool:
        return bool(self.texts or self.tools or self.last is LastRecord.ACTIVITY)

    @property
    def looks_done(self) -> bool:
        return self.last is LastRecord.TEXT and self.texts[-1].stop_reason not in ("tool_use", "max_tokens")

    @property
    def awaits_agents(self) -> bool:
        """It sent agents of its own; a prompt in between only shows the count of those of an earlier turn."""
        is_follow_up = bool(self.prompts) and self.prompts[0].kind is PromptKind.BACKGROUND
        return is_follow_up or not self.prompts or any(t.name in _AGENT_TOOLS for t in self.tools.values())

    def frozen(self) -> Turn:
        return Turn(
            start=self.start,
            end=self.end,
            prompts=tuple(self.prompts),
            texts=tuple(self.texts),
            answer_from=self.answer_from,
            tools=tuple(self.tools.values()),
            last=self.last,
            ending=self.ending,
            error=self.error,
            is_cut=self.is_cut,
            record_id=self.record_id,
        )


class Fold:
    """Builds turns from entries fed in file order."""

    def __init__(self, kept_turns: int = KEPT_TURNS) -> None:
        self._kept_turns = kept_turns
        self._turns: deque[_Open] = deque()
        self._queued: deque[str] = deque(maxlen=_KEPT_QUEUED)
        self._has_command = False
        self.title = ""

    @property
    def queued(self) -> frozenset[str]:
        """Nonces of the latest messages that entered the session's queue."""
        return frozenset(self._queued)

    @property
    def start(self) -> int | None:
        """Where the oldest kept turn begins."""
        return self._turns[0].start if self._turns else None

    def turns(self, after: int | None = None) -> tuple[Turn, ...]:
        """Turns that end behind the offset `after`; without it the last one."""
        if after is None:
            return (self._turns[-1].frozen(),) if self._turns else ()
        return tuple(turn.frozen() for turn in self._turns if turn.end > after)

    def feed(self, item: Item, start: int, end: int) -> None:
        """Take in one entry whose line stands at bytes `start`–`end`."""
        match item:
            case Prompt():
                self._prompt(item, start)
            case Queued():
                self._queued.extend(item.nonces)
                return
            case Title():
                self.title = item.title
                return
            case LocalCommand():
                self._has_command = True
                return
            case TurnOver() | Interruption():
                self._over(item)
            case _:
                self._work(item, start)
        if self._turns:
            turn = self._turns[-1]
            turn.end = max(end, turn.end)
            turn.record_id = getattr(item, "record_id", "") or turn.record_id

    def close(self) -> None:
        """Say that a new turn follows that is not fed here."""
        if self._turns and self._turns[-1].ending is None:
            self._turns[-1].ending = Ending.SUPERSEDED

    def _prompt(self, prompt: Prompt, start: int) -> None:
        turn = self._turns[-1] if self._turns else None
        self._has_command = False
        if turn is None:
            self._begin(start, prompt)
        elif prompt.kind is PromptKind.ABSORBED and turn.ending is None:
            turn.prompts.append(prompt)
        elif prompt.kind is PromptKind.BACKGROUND and turn.ending is Ending.AGENTS_PENDING:
            turn.ending = None
            turn.last = LastRecord.PROMPT
            turn.answer_from = len(turn.texts)
        elif turn.ending is None and not turn.has_begun:
            # Messages that waited together are taken into one turn: several prompts, one answer.
            turn.prompts.append(prompt)
        else:
            turn.ending = turn.ending or Ending.SUPERSEDED
            self._begin(start, prompt)

    def _begin(self, start: int, prompt: Prompt | None = None) -> _Open:
        turn = _Open(start=start, end=start, prompts=[] if prompt is None else [prompt])
        self._turns.append(turn)
        while len(self._turns) > self._kept_turns:
            self._turns.popleft()
        return turn

    def _over(self, item: TurnOver | Interruption) -> None:
        if not self._turns or self._turns[-1].ending is not None:
            return
        turn = self._turns[-1]
        if isinstance(item, Interruption):
            turn.ending = Ending.INTERRUPTED
        elif item.agents_pending and turn.awaits_agents:
            turn.ending = Ending.AGENTS_PENDING
        else:
            turn.ending = Ending.DONE

    def _work(self, item: Item, start: int) -> None:
        turn = self._turns[-1] if self._turns else None
        if turn is None or turn.ending not in (None, Ending.AGENTS_PENDING):
            turn = self._begin(start)
        elif self._has_command and turn.looks_done and isinstance(item, Text | Activity):
            # The answer to a command of the human's own, whose prompt stands nowhere.
            turn.ending = turn.ending or Ending.SUPERSEDED
            turn = self._begin(start, Prompt(PromptKind.HUMAN, start))
        self._has_command = False
        match item:
            case Text():
                _add_text(turn, item)
                turn.last = LastRecord.TEXT
            case ToolUse():
                turn.tools[item.id or f"@{start}"] = item
                turn.answer_from = len(turn.texts)
                turn.last = LastRecord.ACTIVITY
            case ToolsDone():
                for tool_id in item.ids & turn.tools.keys():
                    turn.tools[tool_id] = replace(turn.tools[tool_id], is_open=False, input={})
                turn.answer_from = len(turn.texts)
                turn.last = LastRecord.ACTIVITY
            case ApiFailure():
                turn.ending = Ending.API_ERROR
                turn.error = item.kind
                turn.is_cut = item.is_cut
            case _:
                turn.last = LastRecord.ACTIVITY


def _add_text(turn: _Open, text: Text) -> None:
    """Add a text; a longer snapshot of an earlier one of its message replaces it, a copy adds nothing."""
    if text.message_id:
        for i in range(turn.answer_from, len(turn.texts)):
            earlier = turn.texts[i]
            if earlier.message_id != text.message_id or not text.text.startswith(earlier.text):
                continue
            is_copy = text.text == earlier.text
            turn.texts[i] = replace(earlier, stop_reason=text.stop_reason) if is_copy else text
            return
    turn.texts.append(text)
