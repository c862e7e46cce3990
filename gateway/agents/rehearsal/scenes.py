"""What the rehearsal session does, by the driver's words: scenes as data, nothing here acts.

A scene is chosen by the first row of the table, in the table's order, whose word stands
in the driver's words as a whole word in any case. No word found: the words come back.
Times are real seconds; the session scales them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gateway.agents.rehearsal.report import LONG_REPORT

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

PARKED_S = 60.0
_STEP_S = 2.0
_FIRST_TOKEN_S = 0.04
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Wait:
    """The model has not said anything yet for this long; a message sent now cuts it short."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Text:
    """Progress: a text block of the model message that the next tool use ends."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that runs for `run_s` and returns `result`; `details` is the CLI's own record of it."""

    name: str
    input: Json
    result: str
    details: Json
    run_s: float = _STEP_S


@dataclass(frozen=True, slots=True)
class Form:
    """A question form (AskUserQuestion) nobody answers: dismissed after `parked_s`."""

    input: Json
    parked_s: float = PARKED_S
    name: str = "AskUserQuestion"


@dataclass(frozen=True, slots=True)
class Permission:
    """A tool call that waits for a permission nobody gives: dismissed after `parked_s`."""

    name: str
    input: Json
    parked_s: float = PARKED_S


@dataclass(frozen=True, slots=True)
class ApiError:
    """The model service fails for good and the turn ends there."""

    status: int
    kind: str
    error: str
    text: str


@dataclass(frozen=True, slots=True)
class FinalText:
    """The answer. It streams for `stream_s`, during which a message sent now cuts it."""

    text: str
    stream_s: float = 0.0


Step = Wait | Text | ToolUse | Form | Permission | ApiError | FinalText


@dataclass(frozen=True, slots=True)
class Scene:
    """One turn. `name` is the word that chose it, or "echo"."""

    name: str
    steps: tuple[Step, ...]


def echo(words: str) -> str:
    """The answer to words that name no scene: those words, exactly."""
    return f"You said: {words}"


def scene_for(words: str, directory: str) -> Scene:
    """The scene these words choose, for a session that works in `directory` (an absolute path)."""
    name = _name_of(words)
    if name is None:
        return Scene("echo", (Wait(_FIRST_TOKEN_S), FinalText(echo(words))))
    return Scene(name, _TABLE[name](directory.rstrip("/")))


def scene_of_turn(messages: Sequence[str], directory: str) -> Scene:
    """The scene of a turn that several messages share: the last decides, the others are echoed first.

    A scene without an answer says the echoes with its first progress text; an API error says none.
    """
    scene = scene_for(messages[-1], directory)
    echoes = [echo(words) for words in messages[:-1]]
    steps = list(scene.steps)
    for index, step in enumerate(steps):
        if isinstance(step, Text | FinalText):
            steps[index] = replace(step, text="\n\n".join([*echoes, step.text]))
            break
    return Scene(scene.name, tuple(steps))


def _name_of(words: str) -> str | None:
    spoken = {word.lower() for word in _WORD.findall(words)}
    return next((name for name in _TABLE if name in spoken), None)


def _slow(directory: str) -> tuple[Step, ...]:
    notes = f"{directory}/notes/route.md"
    return (
        Wait(_FIRST_TOKEN_S),
        Text("Taking the slow road. First I look at what is here."),
        _shell("ls notes", "List the notes", "route.md\nstops.md"),
        Text("Two notes are here. Now I read the route."),
        ToolUse(
            "Read",
            {"file_path": notes},
            "1\tStart at the harbour.\n2\tKeep to the coast.\n3\tStop at the lighthouse.",
            {
                "type": "text",
                "file": {
                    "filePath": notes,
                    "content": "Start at the harbour.\nKeep to the coast.\nStop at the lighthouse.",
                    "numLines": 3,
                    "startLine": 1,
                    "totalLines": 3,
                },
            },
        ),
        Text("The route is clear. Last, I run the checks."),
        _shell("make check", "Run the checks", "12 passed"),
        FinalText(
            "The slow road is behind us. I listed the notes, read the route and ran the checks: "
            "all twelve passed. This was a rehearsal, so nothing was changed."
        ),
    )


def _shell(command: str, description: str, printed: str) -> ToolUse:
    return ToolUse(
        "Bash",
        {"command": command, "description": description},
        printed,
        {"stdout": printed, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False},
    )


def _choose(_directory: str) -> tuple[Step, ...]:
    return (
        Wait(_FIRST_TOKEN_S),
        FinalText(
            "There are two ways to get there.\n\n"
            "1. The coast road, which is longer and quiet\n"
            "2. The motorway, which is shorter and busy\n\n"
            "Which one should I take?"
        ),
    )


def _form(_directory: str) -> tuple[Step, ...]:
    options: list[Json] = [
        {"label": "Coast road", "description": "Longer and quiet"},
        {"label": "Motorway", "description": "Shorter and busy"},
    ]
    question: Json = {
        "question": "Which road should I take?",
        "header": "Road",
        "multiSelect": False,
        "options": options,
    }
    return (Wait(_FIRST_TOKEN_S), Text("I need a decision."), Form({"questions": [question]}))


def _permission(directory: str) -> tuple[Step, ...]:
    return (
        Wait(_FIRST_TOKEN_S),
        Text("I would like to write down the road."),
        Permission(
            "Write", {"file_path": f"{directory}/road.md", "content": "# The road\n\nKeep to the coast.\n"}
        ),
    )


def _long(_directory: str) -> tuple[Step, ...]:
    return (Wait(_FIRST_TOKEN_S), FinalText(LONG_REPORT, stream_s=1.0))


def _fail(_directory: str) -> tuple[Step, ...]:
    return (
        Wait(1.0),
        ApiError(
            529,
            "overloaded_error",
            "server_error",
            "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. "
            "Try again in a moment.",
        ),
    )


_TABLE: dict[str, Callable[[str], tuple[Step, ...]]] = {
    "slow": _slow,
    "choose": _choose,
    "form": _form,
    "permission": _permission,
    "long": _long,
    "fail": _fail,
}
