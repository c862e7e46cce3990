"""What a session shows after a message of ours, and what the driver is told: a table, played over HTTP."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway import progress
from tests.gateway.conftest import Client
from tests.gateway.fake_session import (
    FakeSession,
    Line,
    enqueue,
    peer,
    text,
    tool_result,
    tool_use,
    turn_duration,
    user,
)

CASES = yaml.safe_load((Path(__file__).parent.parent / "corpus" / "turns.yaml").read_text("utf-8"))


def line(given: Any) -> Line:
    match given:
        case "over":
            return turn_duration()
        case "stopped":
            return user("[Request interrupted by user]", rowSource="harness")
        case "compacted":
            return {"type": "system", "subtype": "compact_boundary"}
        case {"over": pending}:
            return turn_duration(pending)
        case {"say": words}:
            more = {"isAbortedMidStream": True} if given.get("aborted") else {}
            more |= {"isSidechain": True} if given.get("sidechain") else {}
            return text(words, given.get("stop", "end_turn"), **more)
        case {"think": words}:
            block = {"type": "thinking", "thinking": words}
            return {"type": "assistant", "message": {"content": [block], "stop_reason": "tool_use"}}
        case {"tool": name, "id": tool_id}:
            return tool_use(tool_id, name, **given.get("input", {}))
        case {"form": asked, "options": options}:
            questions = [{"question": asked, "options": [{"label": label} for label in options]}]
            return tool_use("form", "AskUserQuestion", questions=questions)
        case {"result": tool_id}:
            return tool_result(tool_id)
        case {"note": words}:
            return user(words, **({"isCompactSummary": True} if given.get("summary") else {}))
        case {"nudge": words}:
            return user(words, isMeta=True, turnCompanion=True)
        case {"error": kind}:
            message = {
                "model": "<synthetic>",
                "content": [{"type": "text", "text": given.get("text", "API Error")}],
            }
            line = {"type": "assistant", "isApiErrorMessage": True, "error": kind, "message": message}
            return line | {
                "apiErrorStatus": given.get("status"),
                "truncatedAfterOutput": given.get("cut", False),
            }
    raise AssertionError(given)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
async def test_the_driver_is_told_what_is_so(
    case: dict[str, Any], client: Client, session: FakeSession
) -> None:
    def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
        fake.write(enqueue(content), peer(frame), *(line(given) for given in case["lines"]))
        waiting = {"waitingFor": case["waiting_for"]} if "waiting_for" in case else {}
        fake.set(status=case.get("status", "idle"), **waiting)
        if case.get("gone"):
            (fake.config_dir / "sessions" / f"{fake.pid}.json").unlink()

    session.mind = mind
    reply = await client.ask("go", wait=1.5)
    say = reply["say"]
    assert reply["state"] == case["state"], say
    for wanted in case.get("says", []):
        assert wanted in say
    for unwanted in case.get("never", []):
        assert unwanted not in say
    assert ("Still working" in say) == (reply["state"] == "working")
    if "delivery" in case:
        assert reply["delivery"] == case["delivery"]
    if "question" in case:
        assert reply["question"]["kind"] == case["question"]
    assert len(say.split()) <= 60


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["name"])
        for case in CASES
        if case["state"] != "working" and "waiting_for" not in case and not case.get("gone")
    ],
)
async def test_what_an_ask_was_told_is_not_new_afterwards(
    case: dict[str, Any], client: Client, session: FakeSession
) -> None:
    def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
        fake.write(enqueue(content), peer(frame), *(line(given) for given in case["lines"]))

    session.mind = mind
    await client.ask("go", wait=2)
    assert (await client.reply(wait=0))["say"] == "Nothing new."


async def test_a_message_held_for_approval_is_said_to_be_held(client: Client, session: FakeSession) -> None:
    def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
        fake.set(status="waiting", waitingFor="permission prompt")

    session.mind = mind
    reply = await client.ask("go", wait=1.5)
    assert reply["state"] == "needs_answer" and "approves it there" in reply["say"]


async def test_a_lasting_silence_of_the_model_is_said(
    client: Client, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "MODEL_SILENT_S", 0.3)

    def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
        fake.write(enqueue(content), peer(frame))
        fake.set(status="busy")

    session.mind = mind
    reply = await client.ask("go", wait=1)
    assert reply["state"] == "working" and "odel" in reply["say"]
