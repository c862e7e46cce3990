"""The relay note that follows a driver's words into a session, fenced by a nonce.

The words come first and are not touched. The note tells the session how its answer
will be heard. The nonce in the fence cannot be guessed by whoever dictates, so the
note's end cannot be forged; it also makes a wanted repeat ("yes", "yes") differ from
the message before, which the CLI would otherwise drop as a duplicate for 30 s.
"""

import re
import secrets
from collections.abc import Sequence

_OPEN = "--- codriver note {nonce} ---"
_CLOSE = "--- end of codriver note {nonce} ---"
_FENCED = re.compile(
    r"\n\n--- codriver note (?P<nonce>[0-9a-f]{16}) ---\n"
    r"(?P<note>.*?)\n?--- end of codriver note (?P=nonce) ---",
    re.DOTALL,
)


def new_nonce() -> str:
    """64 random bits, as 16 hex digits."""
    return secrets.token_hex(8)


def compose(words: str, nonce: str, lines: Sequence[str]) -> str:
    """The message as a session receives it: the words, a blank line, the fenced note."""
    body = "".join(f"{line}\n" for line in lines)
    return f"{words}\n\n{_OPEN.format(nonce=nonce)}\n{body}{_CLOSE.format(nonce=nonce)}"


def split(content: str) -> tuple[str, str | None]:
    """Take a composed message apart: (words, note), or (content, None) where no note is in it.

    Where the words themselves hold something that looks like a note, the last one counts.
    """
    found = list(_FENCED.finditer(content))
    if not found:
        return content, None
    return content[: found[-1].start()], found[-1]["note"].rstrip("\n")


def nonces_in(text: str) -> frozenset[str]:
    """The nonces of all relay notes in a text."""
    return frozenset(match["nonce"] for match in _FENCED.finditer(text))


LINES = {
    "about": "The text above was dictated by your user, who is driving and hears your answer read aloud.",
    "relay_discipline": (
        "Do what it asks. End with a short final message in plain sentences: what you did, what came of it,"
        " what is left. At most 60 words, no code, no tables, no links; details belong in files."
    ),
    "plain_questions": (
        "If you need a decision, ask it as plain text at the end of your final message and end your turn;"
        " a question form cannot be answered from the car."
    ),
}
"""The lines of a relay note by the switch that turns them on; `about` is always there."""


def words_of(content: str) -> str:
    """The driver's words in what a session received, whatever the CLI put in front of them.

    Claude Code 2.1.332 wraps a message in a preamble line and a warning paragraph.
    """
    words, note = split(content)
    if note is None:
        return content
    preamble, found, rest = words.partition(":\n")
    return rest if found and preamble.startswith("Another Claude session") else words
