"""`codriver demo`: the gateway with its rehearsal session, and one spoken round trip."""

import argparse
import asyncio
import secrets
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from gateway.agents.rehearsal.process import launch, private_root
from gateway.agents.rehearsal.runtime import Rehearsal
from gateway.cli.failure import CommandFailure
from gateway.cli.serve import configure_log, start
from gateway.demo import DemoFailure, RoundTrip
from gateway.service import HttpGateway, open_service
from gateway.settings import Settings, load

DEFAULT_SAY = "Run the tests and tell me what failed."
DEFAULT_PORT = 8787
REPLY_FILE = Path("demo-reply.mp3")
_KEPT_VARIABLES = ("HOME", "CODRIVER_TOKEN", "CODRIVER_LOG_LEVEL")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `demo`."""
    parser = subparsers.add_parser(
        "demo",
        help="try it: one spoken round trip with a rehearsal session",
        description="Start the gateway with a rehearsal session and no other, speak one sentence to it, print"
        f" what happens, save the spoken reply as {REPLY_FILE}; then go on serving until stopped.",
    )
    parser.add_argument("--once", action="store_true", help="end after the round trip")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port (default 8787; once: any)")
    parser.add_argument("--say", default=DEFAULT_SAY, metavar="TEXT", help=f"what to say ({DEFAULT_SAY})")


def run(args: argparse.Namespace, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Run the demo. 0 only if the session received what was heard and the reply's audio decodes."""
    with private_root() as root:
        settings = _settings(args, environ, root)
        configure_log(settings, err)
        return asyncio.run(_demo(settings, args, root, out))


def _settings(args: argparse.Namespace, environ: Mapping[str, str], root: Path) -> Settings:
    """Settings of its own: nothing of the user's configuration or state is touched."""
    kept = {name: environ[name] for name in _KEPT_VARIABLES if environ.get(name)}
    kept.setdefault("CODRIVER_TOKEN", secrets.token_urlsafe(24))
    kept.setdefault("CODRIVER_LOG_LEVEL", "warning")
    kept["XDG_CONFIG_HOME"] = str(root / "none")
    port = args.port if args.port is not None else 0 if args.once else DEFAULT_PORT
    return load(None, kept, {"state.dir": str(root / "state"), "server.port": port})


async def _demo(settings: Settings, args: argparse.Namespace, root: Path, out: TextIO) -> int:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, main.cancel)
    async with launch(root) as process:
        service = await open_service(settings, [Rehearsal(process)])
        gateway = HttpGateway(service)
        try:
            port = await start(gateway, settings)
            url = f"http://127.0.0.1:{port}"
            is_right = await RoundTrip(service, url, REPLY_FILE, out).run(args.say)
            if not args.once:
                _tell_address(settings.auth.token.get_secret_value(), url, out)
                await asyncio.Event().wait()
        except DemoFailure as failure:
            raise CommandFailure(str(failure)) from failure
        except asyncio.CancelledError:
            # A signal: everything below still closes in order.
            main.uncancel()
            is_right = not args.once
        finally:
            await gateway.stop()
    return 0 if is_right else 1


def _tell_address(token: str, url: str, out: TextIO) -> None:
    print(
        f"\nThe gateway goes on at {url} with the token {token} and this session only. From another shell:\n"
        f"  curl -H 'Authorization: Bearer {token}' -d 'Please choose one for me.' {url}/voice/ask\n"
        "Sentences with a scene of their own: Please take the slow road. Show me the form.\n"
        "Ask for permission. Give me the long report (then: more). Please fail now. Stop with Ctrl-C.",
        file=out,
        flush=True,
    )
