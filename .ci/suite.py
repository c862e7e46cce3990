"""Runs the whole test suite, then its quick part on every other supported Python that is here.

    python .ci/suite.py [pytest's arguments, for both]

The quick part leaves out what needs speech models or the real agent CLI. What was not run is
named at the end: interpreters that were not found, and what the tests themselves needed (a browser,
Node or tmux; with `CI` set its absence fails there).
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from environments import NEWEST, OLDEST, ROOT, can_make, ensure, version

QUICK = ["-m", "not models and not live"]
NOTHING_RAN = 5


def main(arguments: list[str]) -> int:
    results: list[tuple[str, int, float]] = []
    try:
        inside = ensure(ROOT / ".venv", sys.executable, "test")
        main_version = version(str(inside))[:2]
        results.append(_run(f"the whole suite on Python {_name(main_version)}", inside, arguments))
        missing = []
        for other in _others(main_version):
            python = _find(other)
            if python is None:
                missing.append(_name(other))
                continue
            inside = ensure(ROOT / f".venv-{_name(other)}", python, "quick", is_exact=True)
            results.append(_run(f"the quick part on Python {_name(other)}", inside, [*QUICK, *arguments]))
    except subprocess.CalledProcessError as error:
        print("Setting up failed; what is above says why.", file=sys.stderr)
        return error.returncode or 1
    print()
    for what, code, seconds in results:
        print(f"{'passed' if code == 0 else 'FAILED'}: {what}, {seconds:.0f} s")
    for name in missing:
        print(f"not run: the quick part on Python {name}, which was not found")
    return max(code for _, code, _ in results)


def _run(what: str, inside: Path, arguments: list[str]) -> tuple[str, int, float]:
    print(f"\nRunning {what}.", flush=True)
    began = time.monotonic()
    code = subprocess.run([inside, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode
    if code == NOTHING_RAN:
        print("No test ran.", file=sys.stderr)
    return what, code, time.monotonic() - began


def _others(main_version: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(3, minor) for minor in range(OLDEST[1], NEWEST[1] + 1) if (3, minor) != main_version]


def _find(wanted: tuple[int, int]) -> str | None:
    """An interpreter of that version that really runs: on the path, else one that pyenv has installed."""
    name = f"python{_name(wanted)}"
    installed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{_name(wanted)}.*/bin/python"))
    for candidate in [shutil.which(name), *map(str, installed)]:
        if candidate and can_make(candidate)[:2] == wanted:
            return candidate
    return None


def _name(found: tuple[int, ...]) -> str:
    return ".".join(map(str, found[:2]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
