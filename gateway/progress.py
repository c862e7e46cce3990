"""What a session is doing, in a few words: the last open tool call and how many steps it took."""

import re

from gateway.agents.turns import Turn
from gateway.phrases import Phrases
from gateway.verdict import Situation

MODEL_SILENT_S = 20.0
"""After this long without a line the model service is probably being retried; that leaves no trace."""

_TOOLS = {
    "Read": "working_reading_file",
    "NotebookRead": "working_reading_file",
    "Edit": "working_editing_file",
    "MultiEdit": "working_editing_file",
    "Write": "working_editing_file",
    "NotebookEdit": "working_editing_file",
    "Bash": "working_running_command",
    "BashOutput": "working_running_command",
    "Grep": "working_searching",
    "Glob": "working_searching",
    "LS": "working_searching",
    "WebFetch": "working_browsing",
    "WebSearch": "working_browsing",
    "Task": "working_delegating",
    "Agent": "working_delegating",
    "TodoWrite": "working_thinking",
}


def describe(situation: Situation, phrases: Phrases) -> str:
    """A sentence about the turn's progress; "" where there is nothing to tell."""
    turn = situation.turn
    if turn is None:
        return ""
    count = len(turn.tools)
    if not turn.open_tools and situation.quiet_s >= MODEL_SILENT_S:
        return _sentence(phrases.say("working_waiting_model"))
    if count == 0:
        return ""
    activity = _activity(turn, phrases)
    if count == 1:
        return phrases.say("working_step", activity=activity)
    return phrases.say("working_steps", activity=activity, count=phrases.number(count))


def _activity(turn: Turn, phrases: Phrases) -> str:
    """What it does now, in the wording that is next for its number of steps."""
    step = len(turn.tools)
    if not turn.open_tools:
        return phrases.say("working_thinking", turn=step)
    name = turn.open_tools[-1].name
    key = _TOOLS.get(name)
    if key is not None:
        return phrases.say(key, turn=step)
    return phrases.say("working_using_tool", turn=step, tool=_tool_name(name))


def _tool_name(name: str) -> str:
    """`mcp__server__do_it` → `do it`."""
    words = re.sub(r"[\W_]+", " ", name.rpartition("__")[2]).strip()
    return words[:40] or "a tool"


def _sentence(text: str) -> str:
    return f"{text}."
