"""What the inbox reads and lets in, without a socket."""

import json

import pytest

from gateway.agents.rehearsal.admission import Admission, Drop
from gateway.agents.rehearsal.frames import NotifyWhenIdle, Priority, Rename, UserFrame, parse
from gateway.agents.rehearsal.notices import detail_of
from gateway.agents.rehearsal.record import slug

UUID = "6f1c2b34-0000-4000-8000-0123456789ab"


def _parse(**fields):
    return parse(json.dumps(fields).encode())


def _user(**fields):
    return _parse(**{"type": "user", "message": {"content": "hi"}, **fields})


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{broken",
        b"7",
        b"[]",
        b"null",
        b'"x"',
        b'{"type":"other"}',
        b'{"type":7}',
        b'{"type":"user"}',
        b'{"type":"user","message":"hi"}',
        b'{"type":"user","message":{"content":""}}',
        b'{"type":"user","message":{"content":7}}',
        b'{"type":"user","message":{"content":[{"type":"text","text":"hi"}]}}',
        b'{"type":"control","action":"interrupt"}',
        b'{"type":"control","action":"rename","name":"  "}',
        b'{"type":"control","action":"notify_when_idle","from":"uds:/a.sock"}',
        b'{"type":"control","action":"notify_when_idle","from":"uds:/a.sock","msg_id":"7"}',
        b"[" * 100_000,
    ],
)
def test_line_that_is_no_frame_means_nothing(line):
    assert parse(line) is None


def test_role_and_unknown_fields_do_not_matter():
    assert _user(message={"role": "assistant", "content": " "}, extra=1).content == " "


def test_message_id_without_uuid_form_is_forgotten_but_the_message_counts():
    assert _user(msg_id=UUID).msg_id == UUID
    for msg_id in ("7", UUID[:-1], 7, None):
        assert _user(msg_id=msg_id) == UserFrame("hi", None, None, Priority.NEXT)


@pytest.mark.parametrize("sender", ["/a.sock", "uds:", "uds:/\0.sock", "uds:/\ud800.sock", 7, None])
def test_sender_that_is_no_address_is_nobody(sender):
    assert _user(**{"from": sender}).sender is None


def test_unknown_priority_is_the_default_one():
    assert [_user(priority=p).priority for p in ("now", "later", "next", "soon", 7, ["now"])] == [
        *("now", "later", "next", "next", "next", "next")
    ]


def test_control_frames_are_read():
    assert _parse(type="control", action="rename", name="x y") == Rename("x y")
    notify = _parse(type="control", action="notify_when_idle", msg_id=UUID, **{"from": "uds:/a.sock"})
    assert notify == NotifyWhenIdle(UUID, "uds:/a.sock")


def test_bytes_that_are_not_utf8_are_replaced():
    assert parse(b'{"type":"user","message":{"content":"a\xffb"}}').content == "a\ufffdb"


def test_same_words_are_dropped_for_thirty_seconds_after_the_last_accepted_ones():
    admission = Admission()
    assert admission.judge("a", "yes", 0.0) is None
    assert admission.judge("a", "yes", 20.0) is Drop.DUPLICATE
    assert admission.judge("a", "yes", 29.9) is Drop.DUPLICATE
    assert admission.judge("a", "yes", 30.1) is None


def test_only_the_senders_own_last_message_counts():
    admission = Admission()
    admission.judge("a", "yes", 0.0)
    assert admission.judge("b", "yes", 1.0) is None
    assert admission.judge("a", "yes ", 2.0) is None
    assert admission.judge("a", "yes", 3.0) is None


def test_burst_of_thirty_passes_and_then_one_in_two_seconds():
    admission = Admission()
    drops = [admission.judge("a", str(number), 0.0) for number in range(31)]
    assert drops == [None] * 30 + [Drop.RATE_LIMITED]
    assert admission.judge("a", "x", 1.0) is Drop.RATE_LIMITED
    assert admission.judge("a", "y", 2.1) is None


def test_many_senders_are_not_all_remembered():
    admission = Admission()
    for number in range(1000):
        assert admission.judge(str(number), "yes", float(number)) is None
    assert len(admission._senders) <= 256
    assert admission.judge("999", "yes", 1000.0) is Drop.DUPLICATE


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ("Done.\n\nIt works.", "Done."),
        ("Two ways.\n\n1. a\n2. b\n\nWhich one?", "Which one?"),
        ("", ""),
        ("x" * 120, "x" * 99 + "…"),
    ],
)
def test_idle_notice_says_the_closing_question_or_the_first_line(answer, detail):
    assert detail_of(answer) == detail


def test_project_folder_is_named_by_utf16_units():
    assert slug("/a/B c_d.é😀") == "-a-B-c-d----"
