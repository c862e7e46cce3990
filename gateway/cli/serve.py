"""`codriver serve`: the gateway itself."""

import argparse
import asyncio
import logging
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from gateway.cli.failure import CommandFailure
from gateway.doors.access import is_loopback_host
from gateway.service import HttpGateway, open_service
from gateway.settings import Settings, load

_QUIET = ("asyncio", "aiohttp", "faster_whisper", "piper", "watchfiles", "huggingface_hub")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `serve`."""
    parser = subparsers.add_parser(
        "serve", help="run the gateway", description="Run the gateway until it is stopped."
    )
    parser.add_argument("--config", type=Path, metavar="F", help="this settings file")
    parser.add_argument("--host", metavar="H", help="listen on this address (default 127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port (default 8787; 0: any)")
    parser.add_argument(
        "--no-auth",
        action="store_true",
        help="no token; only on a loopback host, only POST with an X-Codriver-Client header, nothing proxied",
    )


def run(args: argparse.Namespace, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Serve until a signal comes."""
    given: dict[str, object] = {}
    if args.host is not None:
        given["server.host"] = args.host
    if args.port is not None:
        given["server.port"] = args.port
    settings = load(args.config, environ, given)
    check_access(settings, no_auth=args.no_auth)
    configure_log(settings, err)
    asyncio.run(_serve(settings, out, no_auth=args.no_auth))
    return 0


def check_access(settings: Settings, *, no_auth: bool) -> None:
    """Refuse to start where everybody could get in."""
    host = settings.server.host
    if no_auth and not is_loopback_host(host):
        raise CommandFailure(f"--no-auth works only on a loopback host, and {host} is none.")
    if not no_auth and not settings.auth.token.get_secret_value():
        raise CommandFailure(
            "No token is set, so anybody could drive your sessions. Set CODRIVER_TOKEN or auth.token, for"
            " example: export CODRIVER_TOKEN=$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')"
        )


def configure_log(settings: Settings, err: TextIO) -> None:
    """One line per event on standard error; libraries only warn."""
    logging.basicConfig(
        stream=err,
        level=settings.log.level.value.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)


async def _serve(settings: Settings, out: TextIO, *, no_auth: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    service = await open_service(settings)
    gateway = HttpGateway(service, no_auth=no_auth)
    try:
        port = await start(gateway, settings)
        service.begin()
        host = settings.server.host
        print(f"Codriver listens on http://{host}:{port}", file=out, flush=True)
        await stop.wait()
    finally:
        await gateway.stop()


async def start(gateway: HttpGateway, settings: Settings) -> int:
    """Listen; a taken port becomes a sentence."""
    try:
        return await gateway.start()
    except OSError as error:
        server = settings.server
        raise CommandFailure(
            f"Cannot listen on {server.host} port {server.port}: {error.strerror or 'it is refused'}."
            " Another gateway may be running; choose another port with --port."
        ) from error
