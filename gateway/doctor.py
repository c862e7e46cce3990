"""Checks of an installation, each with what was found and what to do. Delivers nothing."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gateway.agents.claude_code.registry import PEER_PROTOCOL, Record, Registry
from gateway.phrases import Phrases
from gateway.settings.settings import Settings
from gateway.store.database import FILE_NAME
from voice.models import inspect

_CONNECT_S = 2.0
_PYTHONS = ((3, 11), (3, 13))


class Level(StrEnum):
    """How a finding counts: fine, worth knowing, or in the way of a drive."""

    OK = "ok"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result; `to_do` is empty where nothing is to be done."""

    check: str
    level: Level
    found: str
    to_do: str = ""


async def examine(settings: Settings) -> Sequence[Finding]:
    """All checks, in the order in which they are worth mending."""
    findings = [_python(), _token(settings), _state(settings.state_dir)]
    findings += await asyncio.to_thread(lambda: list(_models()))
    findings += [finding async for finding in _sessions(settings)]
    return findings


def _python() -> Finding:
    version = sys.version_info[:2]
    found = f"Python {version[0]}.{version[1]}"
    if _PYTHONS[0] <= version <= _PYTHONS[1]:
        return Finding("python", Level.OK, found)
    return Finding("python", Level.BAD, found, "Use Python 3.11, 3.12 or 3.13.")


def _token(settings: Settings) -> Finding:
    if settings.auth.token.get_secret_value():
        return Finding("token", Level.OK, "a token is set")
    return Finding(
        "token", Level.BAD, "no token is set", "Set CODRIVER_TOKEN, or auth.token in the settings."
    )


def _state(state_dir: Path) -> Finding:
    """The state directory and the database in it are ours alone."""
    try:
        folder = state_dir.stat()
    except FileNotFoundError:
        return Finding("state", Level.OK, "the state directory does not exist yet; the gateway makes it")
    except OSError as error:
        return Finding(
            "state", Level.BAD, f"the state directory cannot be read ({error.strerror})", _STATE_TO_DO
        )
    database = state_dir / FILE_NAME
    if folder.st_uid != os.getuid():
        return Finding("state", Level.BAD, "the state directory belongs to another user", _STATE_TO_DO)
    if stat.S_IMODE(folder.st_mode) & 0o077:
        return Finding("state", Level.BAD, "others can read the state directory", f"chmod 700 {state_dir}")
    if database.is_symlink():
        return Finding("state", Level.BAD, "the database is a symbolic link", f"Remove {database}.")
    if database.exists() and stat.S_IMODE(database.stat().st_mode) & 0o077:
        return Finding("state", Level.BAD, "others can read the database", f"chmod 600 {database}")
    return Finding("state", Level.OK, "the state directory is private")


_STATE_TO_DO = "Set state.dir to a directory of your own."


def _models() -> Iterator[Finding]:
    for check in inspect():
        level = Level.OK if check.is_ok else Level.BAD
        yield Finding("models", level, f"{check.name}: {check.found}", "" if check.is_ok else check.remedy)


async def _sessions(settings: Settings) -> AsyncIterator[Finding]:
    registry = Registry(settings.claude_config_dir)
    phrases = Phrases.load(settings.speech.language)
    if not registry.folder.is_dir():
        yield Finding(
            "registry",
            Level.NOTE,
            "Claude Code has no session registry here",
            "Start a Claude Code session, or set CLAUDE_CONFIG_DIR to the one it uses.",
        )
        return
    if not os.access(registry.folder, os.R_OK | os.X_OK):
        yield Finding(
            "registry", Level.BAD, "the session registry cannot be read", "Run as the sessions' user."
        )
        return
    records = await asyncio.to_thread(lambda: list(registry.records()))
    yield Finding("registry", Level.OK, f"the registry is readable; {len(records)} live sessions")
    for record in records:
        yield await _session(record, phrases)
        if record.peer_protocol != PEER_PROTOCOL:
            yield Finding(
                "protocol",
                Level.NOTE,
                f"{record.session.name}: inbox protocol {record.peer_protocol}, known is {PEER_PROTOCOL}",
                "Look for a newer Codriver; until then try with a harmless message first.",
            )


async def _session(record: Record, phrases: Phrases) -> Finding:
    """Whether the session's socket takes a connection; nothing is written to it."""
    session = record.session
    if record.socket_path is None or session.why_not:
        return Finding(
            "session", Level.NOTE, f"{session.name}: takes no messages", phrases.say(session.why_not)
        )
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_unix_connection(str(record.socket_path))
    except (OSError, TimeoutError):
        return Finding(
            "session",
            Level.BAD,
            f"{session.name}: its socket does not answer",
            "End that session and start it again.",
        )
    writer.close()
    return Finding("session", Level.OK, f"{session.name}: its socket answers")
