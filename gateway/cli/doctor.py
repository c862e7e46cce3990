"""`codriver doctor`: is everything there that a drive needs?"""

import argparse
import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from gateway.doctor import Level, examine
from gateway.settings import load


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `doctor`."""
    parser = subparsers.add_parser(
        "doctor",
        help="check this installation, each finding with what to do",
        description="Check Python, models, sessions, token and state; nothing is delivered to any session.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--config", type=Path, metavar="F", help="this settings file")


def run(args: argparse.Namespace, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Print the findings; 1 where one of them stands in the way of a drive."""
    settings = load(args.config, environ)
    findings = asyncio.run(examine(settings))
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2), file=out)
    else:
        for finding in findings:
            print(f"{finding.level.value:<8} {finding.check:<12} {finding.found}", file=out)
            if finding.to_do:
                print(f"{'':<21} → {finding.to_do}", file=out)
    return 1 if any(finding.level is Level.BAD for finding in findings) else 0
