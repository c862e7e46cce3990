"""One line of a transcript: what matters in it comes out, what does not loses no neighbour."""

import json
from typing import Any

import pytest

from gateway import notes
from gateway.agents.claude_code.lines import (
    Activity,
    ApiFailure,
    Interruption,
    Item,
    LocalCommand,
    Queued,
    ToolsDone,
    TurnOver,
    parse,
)
from gateway.agents.turns import Prompt, PromptKind, Text, ToolUse
from tests.gateway.fake_session import enqueue, text, tool_result, tool_use, turn_duration, user


def items(line: dict[str, Any] | bytes) -> tuple[Item, ...]:
    data = line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode()
    return parse(data, 100, 200)


def texts(line: dict[str, Any] | bytes) -> list[str]:
    return [item.text for item in items(line) if isinstance(item, Text)]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0c", "\x0b", "\x1c", "\r"])
def test_marks_that_other_readers_take_for_line_ends_stay_inside_the_text(mark: str) -> None:
    assert texts(text(f"one{mark}two")) == [f"one{mark}two"]


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"", b"\r"), (b"\0" * 400, b""), (b"", b"\0\0"), (b"  \t", b"  "), (b"\xef\xbb\xbf", b"")],
    ids=["CRLF", "NULs before", "NULs behind", "blanks", "BOM"],
)
def test_what_stands_around_a_record_does_not_hide_it(before: bytes, after: bytes) -> None:
    assert texts(before + json.dumps(text("Found.")).encode() + after) == ["Found."]


@pytest.mark.parametrize(
    "torn",
    [
        b'{"type":"pr-link","sessionId":"1111","prNu',
        b'{"type":"assistant","message":{"content":[{"type":"text","text":"lost',
        b'{"type":"file-history-snapshot","snap' + b"\0" * 64,
        b"\xff\xfe\x80",
    ],
)
def test_a_record_behind_a_torn_one_on_the_same_line_is_read(torn: bytes) -> None:
    assert texts(torn + json.dumps(text("Second.")).encode()) == ["Second."]


def test_two_whole_records_on_one_line_are_both_read() -> None:
    line = json.dumps(text("First.")).encode() + json.dumps({"cwd": "/x", **text("Second.")}).encode()
    assert texts(line) == ["First.", "Second."]


def test_a_record_that_stands_inside_a_torn_one_is_not_taken_for_one_of_the_session() -> None:
    inner = json.dumps(text("from a subagent"))
    assert texts(f'{{"type":"progress","data":{{"message":{inner},"norm'.encode()) == []


def test_bytes_that_are_no_utf8_cost_no_more_than_themselves() -> None:
    line = json.dumps(text("before @ after")).encode().replace(b"@", b"\xff\xc3")
    [said] = texts(line)
    assert said.startswith("before ") and said.endswith(" after")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[1]",
        b'"text"',
        b"{}",
        b"{" * 100_000,
        b'{"type":"assistant"}',
        b'{"type":"assistant","message":[]}',
        b'{"type":"assistant","message":{"content":7}}',
        b'{"type":"assistant","message":{"0":"{","content":[]}}',
        b'{"type":"user","message":{"0":"{","content":[]}}',
        b'{"type":"user","message":{"content":[1,null,"x"]}}',
        b'{"type":"attachment","attachment":"queued_command"}',
        b'{"type":"queue-operation","operation":7}',
        b'{"type":["assistant"]}',
        b'{"type":"brand-new-type","payload":[1,2]}',
        b'{"type":"summary","summary":"Run tests"}',
        b'{"type":"api-request","body":{"type":"assistant","message":{"content":"secret"}}}',
        b'{"type":"assistant","isSidechain":true,"message":{"content":"sub"}}',
        b'{"type":"user","isCompactSummary":true,"message":{"content":"Summary: x"}}',
        b'{"type":"user","isMeta":true,"message":{"content":"nudge"}}',
    ],
)
def test_what_is_unknown_or_damaged_is_nothing(line: bytes) -> None:
    assert items(line) == ()


def test_a_number_that_is_too_long_for_python_is_no_crash() -> None:
    assert items(b'{"type":"user","n":' + b"9" * 10_000 + b"}") == ()


def test_content_is_a_string_or_blocks() -> None:
    assert texts({"type": "assistant", "message": {"content": "plain"}}) == ["plain"]
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": 7}, {"type": "text", "text": "b"}]
    assert texts({"type": "assistant", "message": {"content": blocks}}) == ["a", "", "b"]


def test_half_of_a_surrogate_pair_is_left_out() -> None:
    assert texts(rb'{"type":"assistant","message":{"content":"Done \ud83d ok. \ud83d\ude00"}}') == [
        "Done  ok. \U0001f600"
    ]


def test_thinking_and_unknown_blocks_are_activity_without_words() -> None:
    blocks = [{"type": "thinking", "thinking": "the user wants"}, {"type": "server_tool_use"}]
    assert items({"type": "assistant", "message": {"content": blocks}}) == (Activity(), Activity())


def test_tool_calls_and_their_results() -> None:
    [use] = items(tool_use("t1", "Bash", command="ls"))
    assert isinstance(use, ToolUse) and use.input == {"command": "ls"} and use.is_open
    assert items(tool_result("t1")) == (ToolsDone(frozenset({"t1"})),)


@pytest.mark.parametrize("ending", ["]", " for tool use]"])
def test_an_interruption_is_seen_alone_and_beside_a_tool_result(ending: str) -> None:
    words = {"type": "text", "text": f"[Request interrupted by user{ending}"}
    alone = {"type": "user", "uuid": "u9", "message": {"content": [words]}}
    assert items(alone) == (Interruption("u9"),)
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "no"}
    beside = {"type": "user", "uuid": "u9", "message": {"content": [result, words]}}
    assert items(beside) == (ToolsDone(frozenset({"t1"})), Interruption("u9"))


@pytest.mark.parametrize(
    ("fields", "message", "kind"),
    [
        ({"error": "server_error", "apiErrorStatus": 529}, "", "overloaded"),
        ({"error": "rate_limit"}, "API Error: 529 overloaded", "overloaded"),
        ({"error": "rate_limit", "apiErrorStatus": 429}, "", "rate_limit"),
        ({"error": "authentication_failed", "apiErrorStatus": 401}, "Please run /login", "authentication"),
        ({"error": "invalid_request", "apiErrorStatus": 400}, "Prompt is too long", "full"),
        ({"error": "server_error", "apiErrorStatus": 500}, "", "server_error"),
        ({}, "", "unknown"),
    ],
)
def test_an_api_error_is_no_answer(fields: dict[str, Any], message: str, kind: str) -> None:
    line = {"type": "assistant", "isApiErrorMessage": True, "message": {"content": message}, **fields}
    assert items(line) == (ApiFailure(kind, is_cut=False),)


def test_the_end_of_a_turn_may_leave_agents_at_work() -> None:
    assert items(turn_duration()) == (TurnOver(agents_pending=False),)
    assert items(turn_duration(pending=2)) == (TurnOver(agents_pending=True),)


def test_each_kind_of_user_line_is_told_apart() -> None:
    [human] = items(user("run it"))
    assert isinstance(human, Prompt) and human.kind is PromptKind.HUMAN
    [background] = items(user("<task-notification>done"))
    assert isinstance(background, Prompt) and background.kind is PromptKind.BACKGROUND
    assert items(user("<command-name>/compact</command-name>", isMeta=True)) == (LocalCommand(),)
    assert items(user("<local-command-stdout>x", rowSource="local")) == (LocalCommand(),)


def test_our_message_is_known_by_its_id_and_by_the_nonce_in_its_note() -> None:
    nonce = notes.new_nonce()
    content = "preamble:\n" + notes.compose("go", nonce, ["a note"]) + "\n\nwarning"
    line = user(content, isMeta=True, origin={"kind": "peer", "msg_id": "m-1"})
    [prompt] = items(line)
    assert isinstance(prompt, Prompt) and prompt.kind is PromptKind.PEER
    assert prompt.carries("m-1", "other") and prompt.carries("", nonce)
    assert not prompt.carries("m-2", "f" * 16)
    assert items(enqueue(content)) == (Queued(frozenset({nonce})),)


def test_a_message_that_joined_a_running_turn_stands_in_an_attachment() -> None:
    nonce = notes.new_nonce()
    origin = {"kind": "peer", "msg_id": "m-1"}
    given = {"type": "queued_command", "prompt": notes.compose("go", nonce, []), "origin": origin}
    [prompt] = items({"type": "attachment", "attachment": given})
    assert isinstance(prompt, Prompt) and prompt.kind is PromptKind.ABSORBED
    assert prompt.message_id == "m-1" and nonce in prompt.nonces
