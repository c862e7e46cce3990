"""A transcript read while it grows: nothing is lost or comes twice, a look costs the new bytes only."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.agents.claude_code import reader as reading
from gateway.agents.claude_code.reader import TranscriptReader
from tests.gateway.fake_session import enqueue, peer, text, tool_result, tool_use, turn_duration, user

Line = dict[str, Any]


def data(*lines: Line | bytes) -> bytes:
    return b"".join(
        line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() + b"\n"
        for line in lines
    )


def said(reader: TranscriptReader, after: int = 0) -> list[str]:
    return [one.text for turn in reader.turns(after) for one in turn.texts if one.end > after]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def opened(path: Path) -> TranscriptReader:
    reader = TranscriptReader(path)
    reader.refresh()
    return reader


_WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)
_NOISE = st.sampled_from(
    [
        b"\n",
        b"\r\n",
        b"\0" * 40 + b"\n",
        b'{"type":"summary","summary":"x"}\n',
        b'{"type":"file-history-snapshot","snap\n',
        b'{"type":"brand-new","payload":[1]}\r\n',
        data(turn_duration()),
        data(user("[Request interrupted by user]")),
        data(user("next")),
        data(text("sub", isSidechain=True)),
    ]
)


@st.composite
def _files(draw: st.DrawFn) -> tuple[bytes, list[str], list[int]]:
    """A transcript, the texts in it in order, and the places at which somebody looks while it grows."""
    parts: list[bytes] = []
    words: list[str] = []
    for number in range(draw(st.integers(1, 12))):
        if draw(st.booleans()):
            parts.append(draw(_NOISE))
        one = f"{number}: {draw(_WORDS)}"
        words.append(one)
        ending = draw(st.sampled_from([b"\n", b"\r\n"]))
        parts.append(data(text(one)).rstrip(b"\n") + ending)
    whole = b"".join(parts)
    looks = draw(st.lists(st.integers(0, len(whole)), max_size=12))
    return whole, words, sorted(looks)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_files())
def test_whatever_is_appended_and_whenever_one_looks_each_text_comes_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, given_file: tuple[bytes, list[str], list[int]]
) -> None:
    whole, words, looks = given_file
    path = tmp_path_factory.mktemp("grown") / "s.jsonl"
    path.touch()
    reader, after, heard, at = TranscriptReader(path), 0, [], 0
    for place in [*looks, len(whole)]:
        with path.open("ab") as file:
            file.write(whole[at:place])
        at = place
        reader.refresh()
        heard += said(reader, after)
        after = reader.end
    assert heard == words
    assert said(opened(path)) == said(reader)[-len(said(opened(path))) :]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 70), st.integers(0, 70))
def test_turns_that_are_not_kept_in_memory_come_from_the_file(
    tmp_path_factory: pytest.TempPathFactory, count: int, skipped: int
) -> None:
    path = tmp_path_factory.mktemp("old") / "s.jsonl"
    offsets = [0]
    for i in range(count):
        with path.open("ab") as file:
            file.write(data(user(f"{i}"), text(f"answer {i}"), turn_duration()))
        offsets.append(path.stat().st_size)
    skipped = min(skipped, count)
    assert said(opened(path), offsets[skipped]) == [f"answer {i}" for i in range(skipped, count)]


def test_a_half_written_line_waits_for_its_rest(path: Path) -> None:
    line = data(text("Tests pass."))
    path.write_bytes(data(user("go")) + line[:40])
    reader = opened(path)
    before = reader.end
    assert said(reader) == [] and before == len(data(user("go")))
    with path.open("ab") as file:
        file.write(line[40:])
    reader.refresh()
    assert said(reader, before) == ["Tests pass."]


def test_a_line_of_megabytes_is_read_and_a_longer_one_than_the_limit_passed_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT_BYTES", 3_000_000)
    big = data(tool_result("t", "A" * 2_000_000))
    too_big = data(tool_result("t", "B" * 4_000_000))
    path.write_bytes(data(user("go")) + big + too_big + data(text("Tests pass."), turn_duration()))
    reader = opened(path)
    assert said(reader) == ["Tests pass."]
    assert reader.end == path.stat().st_size


def test_a_file_that_shrank_is_begun_anew(path: Path) -> None:
    path.write_bytes(data(user("go"), text("x" * 600), turn_duration()))
    reader = opened(path)
    path.write_bytes(data(text("Fresh start.")))
    reader.refresh()
    assert said(reader) == ["Fresh start."] and reader.generation == 2


def test_a_file_rewritten_in_place_with_the_same_size_is_noticed(path: Path) -> None:
    path.write_bytes(data(user("go", uuid="a"), text("aaaa", uuid="b", message_id="m")))
    reader, inode = opened(path), path.stat().st_ino
    with path.open("r+b") as file:
        file.write(data(user("no", uuid="a"), text("bbbb", uuid="b", message_id="m")))
    assert path.stat().st_ino == inode
    reader.refresh()
    assert said(reader) == ["bbbb"]


def test_a_file_put_in_the_place_of_another_is_noticed_whatever_its_size(path: Path, tmp_path: Path) -> None:
    path.write_bytes(data(user("go"), text("old")))
    reader = opened(path)
    other = tmp_path / "other"
    other.write_bytes(data(user("go"), text("new"), user("on"), text("newer")))
    os.replace(other, path)
    reader.refresh()
    assert said(reader) == ["new", "newer"]


def test_a_file_that_is_away_and_comes_back_is_read(path: Path) -> None:
    path.write_bytes(data(user("go"), text("old")))
    reader = opened(path)
    path.unlink()
    assert reader.refresh() is None
    path.write_bytes(data(user("go"), text("new")))
    assert reader.refresh() is not None
    assert said(reader) == ["new"]


def test_a_place_in_a_copy_is_found_by_record_id_also_when_the_copy_is_still_being_written(
    path: Path,
) -> None:
    lines = [data(user("go", uuid="u1")), data(text("One.", uuid="u2")), data(text("Two.", uuid="u3"))]
    path.write_bytes(lines[0])
    reader = opened(path)
    assert reader.offset_after("u2") is None
    with path.open("ab") as file:
        file.write(lines[1] + lines[2])
    reader.refresh()
    assert reader.offset_after("u2") == len(lines[0] + lines[1])


def test_a_record_that_only_names_another_is_not_that_record(path: Path) -> None:
    child = user("x", uuid="u2", parentUuid="u1")
    path.write_bytes(data(child))
    assert opened(path).offset_after("u1") is None


def test_the_first_look_starts_where_turns_begin_not_inside_one(path: Path) -> None:
    frame = {"message": {"content": "ours"}, "msg_id": "m-1"}
    absorbed = {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "b"}}
    last = [
        user("a"),
        user("b"),
        peer(frame),
        tool_use("t", "Bash"),
        *[absorbed] * 4,
        tool_result("t"),
        text("All."),
    ]
    path.write_bytes(
        data(*[line for i in range(9) for line in (user(f"{i}"), text(f"{i}"), turn_duration())], *last)
    )
    reader = opened(path)
    [turn] = reader.turns(None)
    assert [prompt.text for prompt in turn.prompts][:2] == ["a", "b"] and turn.took("m-1", "")


class _Counting:
    """Counts the bytes that are read from files opened through `Path.open`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        real = Path.open

        def counted(path: Path, mode: str = "r", **more: Any) -> Any:
            file = real(path, mode, **more)
            if mode != "rb":
                return file
            read = file.read

            class Counted:
                def __enter__(self) -> Any:
                    return self

                def __exit__(self, *_: object) -> None:
                    file.close()

                def __getattr__(self, name: str) -> Any:
                    return getattr(file, name)

                def read(inner, size: int = -1) -> bytes:
                    got = read(size)
                    self.bytes += len(got)
                    return got

            return Counted()

        monkeypatch.setattr(Path, "open", counted)


def _big(path: Path, size_mb: int) -> None:
    turn = data(
        user("go on"), *(tool_result(f"t{i}", "x" * 2000) for i in range(20)), text("Done."), turn_duration()
    )
    with path.open("wb") as file:
        for _ in range(size_mb * 1_000_000 // len(turn) + 1):
            file.write(turn)


def test_a_first_look_at_a_big_file_reads_its_tail_and_later_ones_only_new_bytes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _big(path, 60)
    counting = _Counting(monkeypatch)
    reader = opened(path)
    assert counting.bytes < 2_000_000
    for i in range(20):
        new = data(enqueue("x"), user("more"), text(f"Tests pass {i}."), turn_duration())
        with path.open("ab") as file:
            file.write(new)
        before, after = counting.bytes, reader.end
        reader.refresh()
        assert said(reader, after) == [f"Tests pass {i}."]
        assert counting.bytes - before < len(new) + 4096


def test_a_listener_far_behind_costs_the_old_bytes_once_not_on_each_look(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _big(path, 5)
    reader = opened(path)
    after = len(data(user("go on")))
    reader.turns(after)
    reader.offset_after("nowhere")
    counting = _Counting(monkeypatch)
    for _ in range(5):
        reader.refresh()
        assert reader.turns(after)
        assert reader.offset_after("nowhere") is None
    assert counting.bytes < 20_000
