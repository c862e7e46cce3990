"""Inputs that broke similar products, played against a running gateway.

The table is not part of this repository: it is read from beside the speech corpus
(CODRIVER_CORPUS, else ../shared/corpus), and this file says so where it is missing.
"""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import GatewayError
from gateway.model import Process, Session
from gateway.routing import is_absent, resolve
from tests.gateway.conftest import Client
from tests.gateway.fake_session import FakeSession, answer_with, deaf, text, turn_duration, user

_CORPUS = Path(os.environ.get("CODRIVER_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
_FILE = _CORPUS.parent / "cases" / "cases.jsonl"
_CASES = [json.loads(line) for line in _FILE.read_text().split("\n") if line] if _FILE.is_file() else []

if not _CASES:
    pytest.skip("the table of public cases is not beside the corpus", allow_module_level=True)


def _of(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in _CASES if case["input"]["type"] == kind]


def _check(expected: dict[str, Any], reply: dict[str, Any]) -> None:
    say = reply["say"]
    for wanted in expected.get("spoken_must_contain", []):
        assert wanted.casefold() in say.casefold(), say
    for pattern in _listed(expected.get("spoken_must_not_match")):
        assert not re.search(pattern, say), say
    for pattern in _listed(expected.get("spoken_must_match")):
        assert re.search(pattern, say), say
    if "state" in expected:
        assert reply["state"] == expected["state"], say
    if "state_not" in expected:
        assert reply["state"] != expected["state_not"], say
    if "spoken_max_words" in expected:
        assert len(say.split()) <= expected["spoken_max_words"], say
    if "spoken_min_words" in expected:
        assert len(say.split()) >= expected["spoken_min_words"], say
    if "needs_answer" in expected:
        assert (reply["state"] == "needs_answer") is expected["needs_answer"], say


def _listed(value: Any) -> list[str]:
    return [] if value is None else value if isinstance(value, list) else [value]


@pytest.mark.parametrize("case", [*_of("agent_markdown"), *_of("final_answer")])
async def test_an_answer_is_spoken_as_expected(
    case: dict[str, Any], client: Client, session: FakeSession
) -> None:
    session.mind = answer_with(case["input"]["text"])
    reply = await client.ask("go on then", wait=5)
    assert reply["status"] == 200
    _check(case["expected"], reply)


@pytest.mark.parametrize("case", _of("jsonl"))
async def test_a_transcript_is_read_as_expected(
    case: dict[str, Any], client: Client, session: FakeSession
) -> None:
    given, expected = case["input"], case["expected"]
    session.set(status=_first_status(given.get("registry_status", "idle")))
    session.transcript.write_bytes(_lines(given["lines"], given.get("then", "")))
    first = await client.reply(wait=1)
    then = given.get("then", "")
    if not then:
        if "status" in first:
            assert first["status"] == 200
        if given.get("registry_status") == "busy" and "state" not in expected:
            assert first["state"] == "working"
            session.set(status="idle")
            first = await client.reply(wait=1)
        _check(expected, first)
        return
    if "POST /voice/ask" in then:
        session.mind = deaf
        _check(expected, await client.ask("now deploy", wait=3))
        return
    second = await _continue(case, session, client)
    _check({k: v for k, v in expected.items() if k.startswith("spoken_must")}, second)
    once = expected.get("spoken_once")
    if once:
        assert (first["say"] + " | " + second["say"]).count(once) == 1


def _first_status(status: str) -> str:
    return status.split(maxsplit=1)[0]


def _lines(lines: list[str], then: str) -> bytes:
    whole = [
        line.replace("<400 x \\u0000>", "\0" * 400).replace("<5 MB of 'A'>", "A" * 5_000_000)
        for line in lines
    ]
    data = "\n".join(whole).encode()
    return data if then.startswith("append the rest") else data + b"\n"


async def _continue(case: dict[str, Any], session: FakeSession, client: Client) -> dict[str, Any]:
    then = case["input"]["then"]
    found = re.search(r"\{.*\}", then)
    match case["id"]:
        case "shared-e-01":
            rest = ', "message": {"role": "assistant", "content": "Tests pass.", "stop_reason": "end_turn"}}'
            session.write(rest.encode() + b"\n")
            session.set(status="idle")
        case "shared-e-07":
            assert found
            session.transcript.write_text(found[0] + "\n")
        case "shared-e-09":
            assert found
            old = session.transcript.read_text()
            new_id = "99999999-2222-4333-8444-555555555555"
            copy = old.replace(session.id, new_id)
            session.id = new_id
            session.transcript.write_text(copy + found[0] + "\n")
            session.set(status="idle")
        case _:
            assert found, then
            session.write(found[0].encode() + b"\n")
    await asyncio.sleep(0)
    return await client.reply(wait=1)


@pytest.mark.parametrize("case", _of("session_name"))
def test_a_spoken_name_never_means_another_session(case: dict[str, Any]) -> None:
    """Misheard names are asked back in this release; none may reach a wrong session."""
    given = [one if isinstance(one, dict) else {"name": one} for one in case["input"]["candidates"]]
    sessions = [
        Session("test", one.get("id", f"{i:08d}-aaaa"), one["name"], f"/home/dev/{i}", Process(100 + i, "1"))
        for i, one in enumerate(given)
    ]
    wanted = case["expected"]["answer"]
    wanted = wanted["name"] if isinstance(wanted, dict) else wanted
    heard = case["input"]["heard"]
    if is_absent(heard, sessions):
        return
    try:
        assert resolve(heard, sessions, {}).name == wanted
    except GatewayError as asked:
        assert asked.candidates


def test_the_table_holds_every_kind_that_is_played() -> None:
    kinds = {case["input"]["type"] for case in _CASES}
    assert {"agent_markdown", "final_answer", "jsonl"} <= kinds
    assert user("x") and text("x") and turn_duration()
