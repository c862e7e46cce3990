"""The real socket: what a sender may write, and what comes back to it."""

import asyncio
import hashlib
import json
import os
import sys
import uuid

import pytest


def _user(content, **fields):
    return json.dumps({"type": "user", "message": {"content": content}, **fields}).encode() + b"\n"


async def test_message_is_echoed_word_for_word(driver):
    words = '  "Straße"\u2028 naïve \\n 😀 \t/clear @file <b> \x7f '
    msg_id = await driver.send(words, **{"from": "uds:/nowhere.sock"})
    await driver.settled()
    assert driver.texts() == [f"You said: {words}"]
    (prompt,) = driver.prompts()
    assert words in prompt["message"]["content"]
    assert prompt["isMeta"] is True
    origin = {
        key: prompt["origin"][key] for key in ("kind", "msg_id", "from", "verifiedPeerPid", "verifiedLocal")
    }
    assert origin == {
        "kind": "peer",
        "msg_id": msg_id,
        "from": "uds:/nowhere.sock",
        "verifiedPeerPid": os.getpid(),
        "verifiedLocal": True,
    }


async def test_half_a_surrogate_pair_reaches_the_transcript_as_its_escape(driver):
    await driver.send("a\ud800b")
    await driver.settled()
    assert driver.texts() == ["You said: a\ud800b"]


async def test_message_counts_without_auth_with_wrong_auth_and_without_its_newline(driver):
    await driver.wire(_user("one"))
    await driver.settled(1)
    await driver.wire(b'{"type":"auth","token":"wrong"}\n', _user("two"))
    await driver.settled(2)
    await driver.wire(_user("three").rstrip())
    await driver.settled(3)
    assert driver.texts() == ["You said: one", "You said: two", "You said: three"]
    assert not any("verifiedLocal" in prompt["origin"] for prompt in driver.prompts())
    assert driver.prompts()[0]["origin"]["from"] == "unknown"


async def test_nonsense_and_probes_leave_the_inbox_as_it_was(driver):
    await driver.wire()
    await driver.wire(b"{broken\n", b"[]\n", b'{"type":"user"}\n', _user("", msg_id="7"), _user("hello"))
    await driver.settled()
    assert driver.texts() == ["You said: hello"]


async def test_line_over_one_mebibyte_resets_the_connection_and_only_that(driver):
    reader, writer = await asyncio.open_unix_connection(str(driver.socket_path))
    with pytest.raises(ConnectionError):
        for _ in range(40):
            writer.write(b"x" * 65536)
            await writer.drain()
        assert await reader.read() == b""
        raise ConnectionResetError
    writer.close()
    await driver.wire(_user("x" * 900_000))
    await driver.settled()
    assert len(driver.texts()[0]) == 900_000 + len("You said: ")


async def test_messages_that_arrive_together_share_one_turn(driver):
    await driver.wire(_user("one"), _user("two"))
    await driver.settled()
    assert driver.texts() == ["You said: one\n\nYou said: two"]
    assert driver.operations() == ["enqueue", "enqueue", "dequeue", "dequeue"]
    assert driver.durations() == 1


async def test_same_words_again_are_dropped_and_reported_once(driver):
    listener = await driver.listen()
    await driver.send("yes", **{"from": listener.address})
    await driver.settled()
    dropped = await driver.send("yes", **{"from": listener.address})
    (receipt,) = await driver.until(lambda: listener.frames)
    assert (receipt["action"], receipt["status"], receipt["drop_reason"]) == (
        "peer_message_status",
        "dropped",
        "duplicate",
    )
    assert receipt["orig_msg_id"] == dropped
    assert receipt["from"] == f"uds:{driver.socket_path}"
    await driver.send("yes", **{"from": listener.address})
    await driver.send("yes ", **{"from": listener.address})
    await driver.settled(2)
    assert driver.texts() == ["You said: yes", "You said: yes "]
    assert len(listener.connections) == 1


async def test_receipts_go_only_to_a_socket_in_the_same_folder(driver, tmp_path_factory):
    inside = await driver.listen()
    outside = await driver.listen(tmp_path_factory.mktemp("o") / f"{os.getpid()}.sock")
    odd = await driver.listen(inside.path.with_name("odd.txt"))
    for listener in (outside, odd, inside):
        await driver.send("again", **{"from": listener.address})
        await driver.send("again", **{"from": listener.address})
    await driver.until(lambda: inside.frames)
    assert outside.connections == odd.connections == []


async def test_process_that_did_not_send_gets_no_receipt(driver):
    ours = await driver.listen()
    path = ours.path.with_name("other.sock")
    script = (
        "import socket, sys\ns = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n"
        "print('ready', flush=True)\nprint(s.accept()[0].recv(100), flush=True)\n"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(path), stdout=asyncio.subprocess.PIPE
    )
    await other.stdout.readline()
    await driver.send("again", **{"from": f"uds:{path}"})
    await driver.send("again", **{"from": f"uds:{path}"})
    said, _ = await other.communicate()
    assert said == b"b''\n"


async def test_registered_sender_gets_its_token_and_the_detail(driver):
    listener = await driver.listen()
    sessions = driver.record_path.parent
    mine = sessions / f"{os.getpid()}.json"
    mine.write_text(json.dumps({"pid": os.getpid(), "messagingSocketPath": str(listener.path)}))
    digest = hashlib.sha256(os.path.realpath(listener.path).encode()).hexdigest()
    (sessions / f"{os.getpid()}.{digest}.key").write_text('{"peerToken":"t0ken"}')
    subscription = await driver.control("notify_when_idle", **{"from": listener.address})
    await driver.send("hello")
    auth, notice = await driver.until(lambda: listener.frames)
    assert auth == {"type": "auth", "token": "t0ken"}
    assert (notice["action"], notice["state"]) == ("peer_idle_notice", "idle")
    assert notice["orig_msg_id"] == subscription
    assert notice["detail"] == "You said: hello"


async def test_idle_notice_comes_once_without_detail_to_an_unregistered_subscriber(driver):
    listener = await driver.listen()
    await driver.control("notify_when_idle", **{"from": listener.address})
    (notice,) = await driver.until(lambda: listener.frames)
    assert "detail" not in notice
    await driver.send("hello")
    await driver.settled()
    assert len(listener.frames) == 1


async def test_subscriber_is_told_when_the_session_ends_while_it_works(rehearse):
    driver = await rehearse(1.0)
    listener = await driver.listen()
    await driver.send("slow")
    await driver.until(lambda: driver.record()["status"] == "busy")
    await driver.control("notify_when_idle", **{"from": listener.address})
    os.kill(driver.process.pid, 15)
    (notice,) = await driver.until(lambda: listener.frames)
    assert notice["state"] == "exited"


async def test_rename_shows_in_the_record_and_the_transcript(driver):
    await driver.send("hello")
    await driver.settled()
    await driver.control("rename", name="x y")
    await driver.until(lambda: driver.record()["name"] == "x y")
    assert driver.record()["nameSource"] == "peer"
    titles = await driver.until(lambda: [line for line in driver.lines() if line.get("customTitle") == "x y"])
    assert titles[-1]["type"] == "custom-title"


async def test_renaming_before_the_first_message_makes_no_transcript(driver):
    await driver.control("rename", name="early")
    await driver.until(lambda: driver.record()["name"] == "early")
    assert driver.lines() == []
    await driver.send("hello", msg_id=str(uuid.uuid4()))
    await driver.settled()
    assert driver.lines()[0] == {
        "type": "custom-title",
        "customTitle": "early",
        "sessionId": driver.process.session_id,
    }
