"""Cursors as clients see them: opaque, and only good for the session they were given for.

A cursor is a position in a transcript, not a time. It is signed with a key of this
installation, so that garbage, a made-up place and another gateway's cursor are told
from one of ours whose transcript was replaced meanwhile.
"""

import hashlib
import hmac
import re

from gateway.agents.protocol import Mark, Position
from gateway.errors import BadRequest

_SHAPE = re.compile(
    r"(?P<session>[^~]{1,128})~(?P<offset>\d{1,18})~(?P<print>[0-9a-f]{0,16})~(?P<tag>[0-9a-f]{16})"
)


class Cursors:
    """Writes and reads cursors."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, position: Position) -> str:
        """The cursor for this position."""
        body = f"{position.session_id}~{position.offset}~{position.print}"
        return f"{body}~{self._tag(body)}"

    def read(self, cursor: str, session_id: str) -> Mark:
        """The place a cursor stands for. Raises BadRequest where it is not ours or of another session."""
        match = _SHAPE.fullmatch(cursor)
        if match is None or not hmac.compare_digest(self._tag(cursor.rpartition("~")[0]), match["tag"]):
            raise BadRequest("bad_cursor")
        if match["session"] != session_id:
            raise BadRequest("bad_cursor")
        return Mark(Position(session_id, int(match["offset"]), match["print"]), "")

    def _tag(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:16]
