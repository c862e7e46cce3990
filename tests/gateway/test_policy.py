"""Which sessions may be driven: rules are bound to processes, and nobody drives itself."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.model import Process, Session
from gateway.policy import Policy
from gateway.settings.model import Sessions as SessionRules
from gateway.store import Store

DEMO = Session("x", "id-1", "demo", "/home/dev/demo", Process(4_000_001, "1"), registry_name="demo")
OTHER = Session("x", "id-2", "other", "/home/dev/other", Process(4_000_002, "1"), registry_name="other")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(tmp_path)
    yield store
    store.close()


async def verdicts(rules: SessionRules, store: Store, *sessions: Session) -> list[str]:
    return [one.why_not for one in await Policy(rules, store).rule(sessions)]


@pytest.mark.parametrize("entry", ["demo", "Demo", "id-1", "/home/dev/demo", "/home/dev/demo/", "mine"])
async def test_an_entry_is_a_name_alias_directory_or_id(store: Store, entry: str) -> None:
    aliases = {"mine": "demo"}
    assert await verdicts(SessionRules(allow=[entry], aliases=aliases), store, DEMO, OTHER) == [
        "",
        "session_forbidden",
    ]


@pytest.mark.parametrize("entry", ["demo", "id-1", "/home/dev/demo", "mine"])
async def test_deny_wins_over_allow(store: Store, entry: str) -> None:
    rules = SessionRules(allow=["demo", "other"], deny=[entry], aliases={"mine": "demo"})
    assert await verdicts(rules, store, DEMO, OTHER) == ["session_forbidden", ""]


async def test_a_directory_holds_what_is_below_it_and_nothing_beside_it(store: Store) -> None:
    below = replace(DEMO, directory="/home/dev/demo/sub", name="a", registry_name="a")
    beside = replace(OTHER, directory="/home/dev/demo-2")
    assert await verdicts(SessionRules(allow=["/home/dev/demo"]), store, below, beside) == [
        "",
        "session_forbidden",
    ]


async def test_without_rules_all_may_be_driven(store: Store) -> None:
    assert await verdicts(SessionRules(), store, DEMO, OTHER) == ["", ""]


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_renaming_neither_grants_nor_lifts(store: Store, is_restarted: bool) -> None:
    rules = SessionRules(allow=["demo"])
    policy = Policy(rules, store)
    assert [one.why_not for one in await policy.rule([DEMO, OTHER])] == ["", "session_forbidden"]
    policy = Policy(rules, store) if is_restarted else policy
    swapped = [
        replace(DEMO, name="zzz", registry_name="zzz"),
        replace(OTHER, name="demo", registry_name="demo"),
    ]
    assert [one.why_not for one in await policy.rule(swapped)] == ["", "session_forbidden"]


async def test_a_new_process_is_looked_at_anew(store: Store) -> None:
    rules = SessionRules(deny=["demo"])
    await verdicts(rules, store, DEMO)
    renamed = replace(DEMO, name="fine", registry_name="fine", process=Process(4_000_009, "1"))
    assert await verdicts(rules, store, renamed) == [""]


async def test_names_without_letters_do_not_match_each_other(store: Store) -> None:
    odd = replace(DEMO, name="!!!", registry_name="!!!")
    assert await verdicts(SessionRules(deny=["???"]), store, odd) == [""]


async def test_a_session_that_started_us_is_ourselves(store: Store) -> None:
    parent = replace(DEMO, process=Process(os.getppid(), "1"))
    assert await verdicts(SessionRules(allow=["demo"]), store, parent) == ["session_self"]
    assert await verdicts(SessionRules(allow_self=True), store, parent) == [""]
