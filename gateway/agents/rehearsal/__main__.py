"""`python -m gateway.agents.rehearsal --root DIR`: be a rehearsal session until told to end."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.agents.rehearsal.session import Options, Session


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one session; 0 when it was ended from outside, 1 where it could not begin, 2 on bad usage."""
    options = _options(arguments)
    os.umask(0o077)
    try:
        asyncio.run(Session(options).run())
    except OSError as error:
        sys.stderr.write(f"The rehearsal session cannot run: {error.strerror or error}.\n")
        return 1
    return 0


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        prog="rehearsal", description="A session without a mind, for trying out."
    )
    parser.add_argument("--root", type=Path, required=True, help="its private folder, with a short path")
    parser.add_argument("--name", default="rehearsal", help="its name in the registry")
    parser.add_argument("--time-scale", type=_positive, default=1.0, help="1 is real time, 0.05 a twentieth")
    parser.add_argument("--parent-pid", type=int, default=os.getppid(), help="the process it ends with")
    given = parser.parse_args(arguments)
    return Options(given.root, given.name, given.parent_pid, given.time_scale)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be a number above 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
