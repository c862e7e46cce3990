"""`codriver sessions`, `ask` and `reply`: the conversation from a shell.

Through the running gateway where there is one (`CODRIVER_URL`, else the settings' own
address, with the token), else in this process on the same store.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import aiohttp

from gateway.cli.failure import CommandFailure
from gateway.doors import replies
from gateway.doors.voice import MAX_WAIT_S, session_row
from gateway.errors import GatewayError
from gateway.model import State
from gateway.service import Service, open_service
from gateway.settings import Settings, load
from gateway.utterance import Settled, Switches, Utterance

DEFAULT_CLIENT = "shell"
_CONNECT_S = 2.0
_SPARE_S = 15.0


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the three commands."""
    sessions = subparsers.add_parser(
        "sessions", help="list the sessions that can be driven", description="List the sessions."
    )
    sessions.add_argument("--all", action="store_true", help="also those that cannot be driven, and why")
    ask = subparsers.add_parser(
        "ask",
        help="send words to a session and print what comes of them",
        description="Send words to one or several sessions and print what comes of them.",
    )
    ask.add_argument("words", nargs="+", metavar="TEXT", help="the words; sent as they are")
    reply = subparsers.add_parser(
        "reply", help="print what is new in a session", description="Print what is new in a session."
    )
    for parser in (ask, reply):
        parser.add_argument("-s", "--session", action="append", metavar="SESSION", help="a name, id or pid")
        parser.add_argument(
            "--wait", type=float, metavar="S", help="wait at most this many seconds (0 to 45)"
        )
    for parser in (sessions, ask, reply):
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("--config", type=Path, metavar="F", help="this settings file")


def run(args: argparse.Namespace, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Carry one of them out. 0 also for `working`."""
    settings = load(args.config, environ)
    if args.command == "sessions":
        data = asyncio.run(_sessions(settings, shows_all=args.all))
        _print_sessions(data, args, out)
        return 0
    answers = asyncio.run(_talk(settings, args))
    if args.json:
        shown: object = answers[0] if len(answers) == 1 else answers
        print(json.dumps(shown, ensure_ascii=False, indent=2), file=out)
    else:
        for answer in answers:
            name = f"{answer['session']['name']}: " if len(answers) > 1 and answer.get("session") else ""
            print(f"{name}{answer['say']}", file=err if answer["state"] == State.ERROR else out)
    return 1 if any(answer["state"] == State.ERROR for answer in answers) else 0


async def _talk(settings: Settings, args: argparse.Namespace) -> list[dict[str, Any]]:
    names: Sequence[str] = args.session or [""]
    words = " ".join(args.words) if args.command == "ask" else ""
    async with _line(settings) as line:
        return await asyncio.gather(*(line.say(name, words, args.wait) for name in names))


async def _sessions(settings: Settings, *, shows_all: bool) -> list[dict[str, Any]]:
    async with _line(settings) as line:
        return await line.sessions(shows_all=shows_all)


@asynccontextmanager
async def _line(settings: Settings) -> "AsyncIterator[_Remote | _Here]":
    """A line to the running gateway, or to the same store in this process."""
    timeout = aiohttp.ClientTimeout(total=MAX_WAIT_S + _SPARE_S, sock_connect=_CONNECT_S)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        remote = _Remote(http, settings)
        if settings.places.gateway_url or await remote.is_there():
            yield remote
            return
    service = await open_service(settings)
    try:
        yield _Here(service)
    finally:
        await service.close()


class _Remote:
    """A running gateway."""

    def __init__(self, http: aiohttp.ClientSession, settings: Settings) -> None:
        server = settings.server
        self._http = http
        self._url = settings.places.gateway_url.rstrip("/") or f"http://{server.host}:{server.port}"
        token = settings.auth.token.get_secret_value()
        self._can_ask = bool(token) and not token.startswith("sha256:")
        self._headers = {"Authorization": f"Bearer {token}", "X-Codriver-Client": _client(settings)}

    async def is_there(self) -> bool:
        """A gateway answers at the settings' own address, and we know its token."""
        if not self._can_ask:
            return False
        try:
            async with self._http.get(f"{self._url}/readyz", headers=self._headers) as response:
                return response.status in (200, 503)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def say(self, session: str, words: str, wait_s: float | None) -> dict[str, Any]:
        """One ask (with words) or reply (without)."""
        fields: dict[str, Any] = {"session": session, "format": "json", "literal": True}
        if wait_s is not None:
            fields["wait"] = wait_s
        if words:
            fields["message"] = words
        return await self._post("ask" if words else "reply", fields)

    async def sessions(self, *, shows_all: bool) -> list[dict[str, Any]]:
        """The list of sessions."""
        data = await self._post("sessions", {"format": "json", "all": shows_all})
        if "code" in data:
            raise CommandFailure(str(data["say"]))
        found: list[dict[str, Any]] = data["sessions"]
        return found

    async def _post(self, path: str, fields: dict[str, Any]) -> dict[str, Any]:
        try:
            url = f"{self._url}/voice/{path}"
            async with self._http.post(url, json=fields, headers=self._headers) as response:
                data = await response.json()
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
            raise CommandFailure(
                f"No gateway answers at {self._url}. Start one with: codriver serve"
            ) from None
        if not isinstance(data, dict) or "say" not in data:
            raise CommandFailure(f"What answers at {self._url} is not a Codriver gateway.")
        return data


class _Here:
    """The same conversation in this process."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def say(self, session: str, words: str, wait_s: float | None) -> dict[str, Any]:
        """One ask or reply."""
        dialog = self._service.settings.dialog
        default_s = dialog.ask_wait_s if words else dialog.reply_wait_s
        utterance = Utterance(
            client=_client(self._service.settings),
            wait_s=min(max(default_s if wait_s is None else wait_s, 0.0), MAX_WAIT_S),
            began_at=self._service.clock.monotonic(),
            words=words,
            session=session,
            is_literal=True,
            switches=Switches(dialog.relay_discipline, dialog.plain_questions),
        )
        try:
            async for event in self._service.dialog.converse(utterance):
                if isinstance(event, Settled):
                    async with self._service.dialog.handing_over(event.heard):
                        return replies.of_reply(event.reply).data
        except GatewayError as error:
            return replies.of_error(error, self._service.phrases).data
        raise AssertionError("a conversation always settles")

    async def sessions(self, *, shows_all: bool) -> list[dict[str, Any]]:
        """The list of sessions."""
        ruled = await self._service.sessions.live()
        return [
            session_row(one, self._service.phrases)
            for one in ruled
            if shows_all or (not one.why_not and one.session.takes_messages)
        ]


def _client(settings: Settings) -> str:
    return settings.places.client_name or DEFAULT_CLIENT


def _print_sessions(rows: list[dict[str, Any]], args: argparse.Namespace, out: TextIO) -> None:
    if args.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2), file=out)
        return
    if not rows:
        print("No session is running that can be driven. With --all you see the others and why.", file=out)
    for row in rows:
        why = f"  ({row['why_not']})" if row["why_not"] else ""
        print(f"{row['name']:<24} {row['state']:<8} {row['directory']}{why}", file=out)
