"""Every scene in the real transcript, and what a message does to a turn that runs."""

import asyncio

from gateway.agents.rehearsal.report import LONG_REPORT
from gateway.notes import compose, new_nonce


async def _parked(driver, words, why):
    await driver.send(words)
    await driver.until(lambda: driver.record().get("waitingFor") == why)
    assert driver.record()["status"] == "waiting"
    return await driver.until(driver.tools)


async def test_lines_hang_together(driver):
    await driver.send("slow")
    await driver.settled()
    chained = [line for line in driver.lines() if "uuid" in line]
    assert [line["parentUuid"] for line in chained] == [None, *(line["uuid"] for line in chained[:-1])]
    for line in chained:
        assert line["sessionId"] == driver.process.session_id
        assert line["cwd"] == driver.record()["cwd"]
        assert line["isSidechain"] is False
        assert len(line["timestamp"]) == len("2026-11-30T21:18:07.759Z")


async def test_slow_road_writes_progress_and_three_closed_tool_steps(driver):
    await driver.send("Please take the slow road.")
    await driver.settled()
    assert [tool["name"] for tool in driver.tools()] == ["Bash", "Read", "Bash"]
    results = [line["message"]["content"][0]["tool_use_id"] for line in driver.results()]
    assert results == [tool["id"] for tool in driver.tools()]
    assert len(driver.texts()) == 4
    reasons = [line["message"]["stop_reason"] for line in driver.lines() if line["type"] == "assistant"]
    assert reasons == ["tool_use"] * 6 + ["end_turn"]
    first, second = [line["message"]["id"] for line in driver.lines() if line["type"] == "assistant"][:2]
    assert first == second


async def test_long_report_is_one_block_unchanged(driver):
    await driver.send("Give me the long report.")
    await driver.settled()
    assert driver.texts() == [LONG_REPORT]


async def test_choose_ends_its_turn_with_its_question(driver):
    await driver.send("Please choose one for me.")
    await driver.settled()
    assert driver.texts()[-1].endswith("?")
    assert driver.tools() == []


async def test_fail_ends_in_an_api_error_without_a_duration(driver):
    await driver.send("Please fail now.")
    line = await driver.until(lambda: [line for line in driver.lines() if line.get("isApiErrorMessage")])
    assert line[0]["message"]["model"] == "<synthetic>"
    assert (line[0]["apiErrorStatus"], line[0]["error"]) == (529, "server_error")
    await driver.until(lambda: driver.record()["status"] == "idle")
    assert driver.durations() == 0


async def test_relay_note_chooses_nothing(driver):
    await driver.send(compose("hello", new_nonce(), ["Keep it slow, no long form."]))
    await driver.settled()
    assert driver.texts() == ["You said: hello"]


async def test_form_parks_the_session_and_is_dismissed_in_the_end(rehearse):
    driver = await rehearse(0.01)
    (form,) = await _parked(driver, "Show me the form.", "input needed")
    assert form["name"] == "AskUserQuestion"
    assert len(form["input"]["questions"][0]["options"]) == 2
    (result,) = await driver.until(driver.results)
    assert result["toolDenialKind"] == "user-rejected"
    assert driver.lines()[-3]["message"]["content"][0]["text"] == "[Request interrupted by user for tool use]"
    await driver.until(lambda: driver.record()["status"] == "idle")
    assert "waitingFor" not in driver.record()
    assert driver.durations() == 0


async def test_what_waits_behind_a_dismissed_form_gets_its_own_turn(rehearse):
    driver = await rehearse(0.02)
    await _parked(driver, "form", "input needed")
    await driver.send("hello")
    await driver.settled()
    assert driver.texts()[-1] == "You said: hello"
    assert driver.durations() == 1


async def test_now_withdraws_a_form_and_runs_with_all_that_waits(rehearse):
    driver = await rehearse(1.0)
    await _parked(driver, "Show me the form.", "input needed")
    await driver.send("behind")
    await driver.send("aside", priority="later")
    await driver.send("drop it", priority="now")
    await driver.settled()
    (result,) = driver.results()
    assert (result["toolDenialKind"], result["interruptedBySendNow"]) == ("cancelled", True)
    assert result["message"]["content"][0]["is_error"] is True
    assert driver.texts()[-1] == "You said: behind\n\nYou said: aside\n\nYou said: drop it"
    assert driver.durations() == 1


async def test_now_withdraws_a_permission(rehearse):
    driver = await rehearse(1.0)
    (tool,) = await _parked(driver, "Ask for permission.", "permission prompt")
    assert tool["name"] == "Write"
    await driver.send("stop", priority="now")
    await driver.settled()
    assert driver.results()[0]["toolDenialKind"] == "cancelled"
    assert driver.texts()[-1] == "You said: stop"


async def test_later_while_a_tool_runs_gets_a_turn_of_its_own(rehearse):
    driver = await rehearse(0.3)
    await driver.send("slow")
    await driver.until(driver.tools)
    await driver.send("afterwards", priority="later")
    await driver.settled(2)
    assert driver.texts()[-1] == "You said: afterwards"
    first, second = driver.prompts()
    assert "queuePriority" not in first
    assert second["queuePriority"] == "later"
    assert driver.operations() == ["enqueue", "dequeue", "enqueue", "dequeue"]


async def test_default_priority_while_a_tool_runs_is_absorbed(rehearse):
    driver = await rehearse(0.3)
    await driver.send("slow")
    await driver.until(driver.tools)
    msg_id = await driver.send("and this too")
    await driver.settled()
    assert driver.operations() == ["enqueue", "dequeue", "enqueue", "remove"]
    (removal,) = [line for line in driver.lines() if line.get("operation") == "remove"]
    assert removal["reason"] == "absorbed_mid_turn"
    (absorbed,) = [line["attachment"] for line in driver.lines() if line["type"] == "attachment"]
    assert (absorbed["type"], absorbed["prompt"]) == ("queued_command", "and this too")
    assert absorbed["origin"]["msg_id"] == msg_id
    assert len(driver.prompts()) == 1
    assert driver.texts()[-1].endswith("\n\nYou said: and this too")


async def test_now_while_a_tool_runs_lets_it_end_and_takes_over(rehearse):
    driver = await rehearse(0.3)
    await driver.send("slow")
    await driver.until(driver.tools)
    await driver.send("waiting")
    await driver.send("stop here", priority="now")
    await driver.settled()
    assert len(driver.results()) == len(driver.tools()) < 3
    assert not any("permissionDecision" not in line for line in driver.results())
    assert driver.durations() == 1
    assert driver.texts()[-1].endswith("You said: stop here")


async def test_now_cuts_an_answer_and_keeps_what_was_said(rehearse):
    driver = await rehearse(8.0)
    await driver.send("long")
    await driver.until(driver.prompts)
    await asyncio.sleep(1.0)  # an eighth of the answer has streamed; nothing outside shows that
    await driver.send("stop here", priority="now")
    await driver.settled()
    (cut,) = [line for line in driver.lines() if line.get("isAbortedMidStream")]
    assert cut["message"]["stop_reason"] is None
    said = cut["message"]["content"][0]["text"]
    assert said
    assert LONG_REPORT.startswith(said)
    assert said != LONG_REPORT
    assert driver.durations() == 1
    assert driver.texts()[-1] == "You said: stop here"


async def test_now_on_an_idle_session_is_an_ordinary_message(driver):
    await driver.send("hello", priority="now")
    await driver.settled()
    assert driver.texts() == ["You said: hello"]
