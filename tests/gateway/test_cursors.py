"""A cursor is ours, of one session, and a position: everything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agents.protocol import Position
from gateway.cursors import Cursors
from gateway.errors import BadRequest

CURSORS = Cursors(b"k" * 16)
_HEX = st.text("0123456789abcdef", max_size=16)


@given(st.text("abcdef0123456789-", min_size=1, max_size=40), st.integers(0, 10**12), _HEX)
def test_what_was_written_is_read_back(session_id: str, offset: int, mark: str) -> None:
    position = Position(session_id, offset, mark)
    assert CURSORS.read(CURSORS.write(position), session_id).position == position


@given(st.text(max_size=200))
def test_garbage_is_refused_and_never_a_crash(cursor: str) -> None:
    with pytest.raises(BadRequest):
        CURSORS.read(cursor, "s-1")


@given(st.integers(0, 60), st.characters())
def test_a_changed_cursor_is_refused(place: int, char: str) -> None:
    cursor = CURSORS.write(Position("s-1", 4096, "0a1b2c3d"))
    changed = cursor[:place] + char + cursor[place + 1 :]
    if changed == cursor:
        return
    with pytest.raises(BadRequest):
        CURSORS.read(changed, "s-1")


def test_another_installations_cursor_and_another_sessions_are_refused() -> None:
    position = Position("s-1", 4096, "0a1b2c3d")
    with pytest.raises(BadRequest):
        CURSORS.read(Cursors(b"other").write(position), "s-1")
    with pytest.raises(BadRequest):
        CURSORS.read(CURSORS.write(position), "s-2")
