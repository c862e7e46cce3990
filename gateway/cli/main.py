"""The command `codriver`: parses arguments, runs one command, and lets no traceback reach a user."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol, TextIO

from gateway import __version__
from gateway.cli import config, demo, doctor, serve, speech, talk
from gateway.cli.failure import CommandFailure
from gateway.phrases import BadPhrases
from gateway.settings import BadSettings
from gateway.spoken_commands import BadSpokenCommands
from gateway.store import StateUnusableError


class Command(Protocol):
    """A module that adds parsers for its commands and runs them."""

    def add_parser(self, subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
        """Add the commands."""

    def run(self, args: argparse.Namespace, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
        """Carry one out; its exit code."""


_COMMANDS: Sequence[tuple[Command, frozenset[str]]] = (
    (demo, frozenset({"demo"})),
    (serve, frozenset({"serve"})),
    (talk, frozenset({"sessions", "ask", "reply"})),
    (speech, frozenset({"transcribe", "say"})),
    (doctor, frozenset({"doctor"})),
    (config, frozenset({"config"})),
)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    main = argparse.ArgumentParser(
        prog="codriver",
        description="Talk to the coding-agent sessions on this machine while you drive.",
        epilog="Settings: codriver.yaml and CODRIVER_* variables; see 'codriver config show'.",
    )
    main.add_argument("--version", action="version", version=f"codriver {__version__}")
    subparsers = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module, _ in _COMMANDS:
        module.add_parser(subparsers)
    return main


def main(argv: Sequence[str], environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Run one command. 0: done; 1: failed for a reason that was printed; 2: bad usage."""
    try:
        args = parser().parse_args(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    module = next(module for module, names in _COMMANDS if args.command in names)
    try:
        return module.run(args, environ, out, err)
    except (BadSettings, BadPhrases, BadSpokenCommands, StateUnusableError, CommandFailure) as error:
        print(error, file=err)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Stopped.", file=err)
    except OSError as error:
        print(f"codriver: {error.strerror or 'a system call failed'}", file=err)
    return 1


def run() -> int:
    """The entry point of the console script."""
    return main(sys.argv[1:], os.environ, sys.stdout, sys.stderr)
