"""Entries in file order become turns: which texts are an answer, and whether it is over."""

import json
from typing import Any

from gateway.agents.claude_code.fold import Fold
from gateway.agents.claude_code.lines import parse
from gateway.agents.turns import Ending, LastRecord, PromptKind, Turn
from tests.gateway.fake_session import text, tool_result, tool_use, turn_duration, user

Line = dict[str, Any]


def turns(*lines: Line) -> tuple[Turn, ...]:
    fold, at = Fold(), 0
    for line in lines:
        data = json.dumps(line).encode()
        end = at + len(data) + 1
        for item in parse(data, at, end):
            fold.feed(item, at, end)
        at = end
    return fold.turns(0)


def answer(turn: Turn) -> list[str]:
    return [one.text for one in turn.answer()]


def absorbed(words: str) -> Line:
    return {"type": "attachment", "attachment": {"type": "queued_command", "prompt": words}}


def interruption() -> Line:
    return user("[Request interrupted by user]")


def api_error(**more: Any) -> Line:
    return {
        "type": "assistant",
        "isApiErrorMessage": True,
        "error": "server_error",
        "message": {"content": "x"},
        **more,
    }


def test_the_answer_is_what_follows_the_last_tool_call() -> None:
    [turn] = turns(
        user("go"),
        text("Looking.", "tool_use"),
        tool_use("t", "Bash"),
        tool_result("t"),
        text("Two."),
        turn_duration(),
    )
    assert answer(turn) == ["Two."]
    assert turn.ending is Ending.DONE and turn.last is LastRecord.TEXT and not turn.open_tools


def test_a_tool_call_is_open_until_its_own_result_stands_there() -> None:
    [turn] = turns(
        user("go"), tool_use("a", "Bash"), tool_use("b", "Read"), tool_result("b"), tool_result("zzz")
    )
    assert [tool.id for tool in turn.open_tools] == ["a"]


def test_the_input_of_a_finished_tool_call_is_let_go() -> None:
    [turn] = turns(user("go"), tool_use("a", "Write", content="x" * 1000), tool_result("a"))
    assert turn.tools[0].input == {}


def test_snapshots_of_one_message_count_once() -> None:
    grown = [text(words, None, "m7") for words in ("All", "All tests", "All tests pass.", "All tests pass.")]
    [turn] = turns(user("go"), *grown)
    assert answer(turn) == ["All tests pass."]


def test_a_copied_line_does_not_move_the_place_of_its_text() -> None:
    first = text("Done.", message_id="m1")
    once, again = turns(user("go"), first), turns(user("go"), first, first)
    assert answer(again[0]) == ["Done."]
    assert again[0].texts[0].end == once[0].texts[0].end


def test_different_texts_of_one_message_add_up() -> None:
    [turn] = turns(user("go"), text("One.", message_id="m"), text("Two.", message_id="m"))
    assert answer(turn) == ["One.", "Two."]


def test_messages_taken_in_together_share_a_turn() -> None:
    [turn] = turns(user("a"), user("b"), text("Both."), turn_duration())
    assert [prompt.text for prompt in turn.prompts] == ["a", "b"]


def test_an_absorbed_message_joins_the_running_turn() -> None:
    [turn] = turns(
        user("a"), tool_use("t", "Bash"), tool_result("t"), absorbed("b"), text("Both."), turn_duration()
    )
    assert [prompt.kind for prompt in turn.prompts] == [PromptKind.HUMAN, PromptKind.ABSORBED]
    assert answer(turn) == ["Both."]


def test_a_new_prompt_ends_a_turn_that_shows_no_end() -> None:
    first, second = turns(user("a"), text("One."), user("b"))
    assert first.ending is Ending.SUPERSEDED and answer(first) == ["One."]
    assert second.ending is None and answer(second) == []


def test_background_agents_keep_a_turn_open_and_their_report_is_its_answer() -> None:
    started = [
        user("a"),
        tool_use("t", "Agent"),
        tool_result("t"),
        text("Started."),
        turn_duration(pending=1),
    ]
    [waiting] = turns(*started)
    assert waiting.ending is Ending.AGENTS_PENDING
    [turn] = turns(*started, user("<task-notification>"), text("Found it."), turn_duration())
    assert turn.ending is Ending.DONE and answer(turn) == ["Found it."]


def test_a_prompt_between_an_agents_start_and_its_report_gets_its_own_answer() -> None:
    first, second, third = turns(
        *(user("a"), tool_use("t", "Agent"), tool_result("t"), text("Started."), turn_duration(pending=1)),
        *(user("two plus two"), text("Four."), turn_duration(pending=1)),
        *(user("<task-notification>"), text("Found it."), turn_duration()),
    )
    assert [answer(turn) for turn in (first, second, third)] == [["Started."], ["Four."], ["Found it."]]
    assert second.ending is Ending.DONE and third.ending is Ending.DONE


def test_a_background_shells_report_is_a_turn_of_its_own() -> None:
    first, second = turns(
        user("a"), text("Runs."), turn_duration(), user("<task-notification>"), text("Done.")
    )
    assert answer(first) == ["Runs."] and answer(second) == ["Done."]


def test_an_interruption_and_an_api_error_end_a_turn() -> None:
    [stopped] = turns(user("a"), text("I will now del", None), interruption())
    assert stopped.ending is Ending.INTERRUPTED
    [failed] = turns(user("a"), api_error())
    assert failed.ending is Ending.API_ERROR and failed.error == "server_error" and not answer(failed)
    [cut] = turns(user("a"), text("Half"), api_error(truncatedAfterOutput=True))
    assert cut.is_cut and answer(cut) == ["Half"]


def test_what_a_refusal_broke_off_gives_way_to_what_followed() -> None:
    [turn] = turns(user("a"), text("I can", "refusal"), user("nudge", isMeta=True), text("Something else."))
    assert answer(turn) == ["Something else."]
    [alone] = turns(user("a"), text("I can", "refusal"))
    assert answer(alone) == ["I can"]


def test_the_answer_to_a_command_of_the_humans_own_is_not_the_answer_before_it() -> None:
    command = user("<command-message>review</command-message>")
    first, second = turns(user("a"), text("Mine."), command, user("expanded", isMeta=True), text("Theirs."))
    assert answer(first) == ["Mine."] and answer(second) == ["Theirs."]
    assert second.prompts, "nobody may take it for the answer to a message without a prompt line"


def test_a_command_in_the_middle_of_work_splits_nothing() -> None:
    [turn] = turns(
        user("a"),
        text("Looking.", "tool_use"),
        user("<command-name>/config"),
        tool_use("t", "Bash"),
        tool_result("t"),
        text("End."),
    )
    assert answer(turn) == ["End."]


def test_text_behind_the_end_of_a_turn_is_no_part_of_it() -> None:
    first, second = turns(user("a"), text("One."), turn_duration(), text("Late."))
    assert answer(first) == ["One."] and answer(second) == ["Late."]


def test_a_turn_knows_the_record_it_ends_with() -> None:
    said = text("One.")
    [turn] = turns(user("a"), said, turn_duration())
    assert turn.record_id == said["uuid"]
    failed = api_error(uuid="e1")
    [turn] = turns(user("a"), failed)
    assert turn.record_id == "e1"
