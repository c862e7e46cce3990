"""Run all benches, print the table, write bench-results.json. Exit 1 where a bar is missed."""

import asyncio
import sys

from tests.bench import following, settling, speaking
from tests.bench.report import Figure, show


def main() -> int:
    figures: list[Figure] = []
    figures += asyncio.run(settling.measure())
    figures += following.measure()
    figures += asyncio.run(speaking.measure())
    return show(figures)


sys.exit(main())
