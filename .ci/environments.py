"""Makes a virtual environment with Codriver in it, or finds that it is as it should be.

    python .ci/environments.py FOLDER EXTRA [--exactly]

A stamp in the environment holds the digest of all that decides its contents, so that a second
call returns at once. `--exactly` rebuilds an environment of another Python; without it any
Python from 3.11 to 3.13 that is there is kept. Only the standard library is used here.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = (3, 11), (3, 13)
# What an extra contains: an environment with `test` needs nothing more for `embedded`.
WITHIN = {"embedded": ("embedded", "test"), "quick": ("quick", "test"), "test": ("test",)}
_ASK = "import sys; print(*sys.version_info[:3])"
_ASK_FOR_VENV = "import ensurepip, venv, sys; print(*sys.version_info[:3])"


def ensure(folder: Path, python: str, extra: str, is_exact: bool = False) -> Path:
    """The Python of the environment in `folder`, which then has the extra installed from this checkout.

    Errors: `subprocess.CalledProcessError` where pip or venv failed; they have said why.
    """
    inside = folder / "bin" / "python"
    present = version(str(inside))
    wanted = version(python)
    if not is_supported(present) or (is_exact and present != wanted):
        print(f"Making {folder.name} with Python {'.'.join(map(str, wanted))}.", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        present = wanted
    digest = _digest(present)
    if any(_stamp(folder, having) == digest for having in WITHIN[extra]):
        return inside
    print(f"Installing codriver[{extra}] into {folder.name}; this takes a minute or two.", flush=True)
    _install(inside, extra)
    _stamp_file(folder, extra).write_text(digest, encoding="ascii")
    return inside


def version(python: str, question: str = _ASK) -> tuple[int, ...]:
    """The version of an interpreter, empty where there is none or it does not run (a shim of pyenv)."""
    try:
        asked = subprocess.run(
            [python, "-I", "-c", question], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(map(int, asked.stdout.split())) if asked.returncode == 0 else ()


def can_make(python: str) -> tuple[int, ...]:
    """The version of an interpreter that can make environments, else empty."""
    return version(python, _ASK_FOR_VENV)


def is_supported(found: tuple[int, ...]) -> bool:
    """Whether Codriver runs on that Python."""
    return OLDEST <= found[:2] <= NEWEST


def _install(inside: Path, extra: str) -> None:
    constraints = str(ROOT / "constraints.txt")
    # The second pins what a build happens with: pip before 25.3 takes it from the first.
    environ = {**os.environ, "PIP_CONSTRAINT": constraints, "PIP_BUILD_CONSTRAINT": constraints}
    # -qq: errors only. A look for a newer pip would be one more thing that can fail.
    options = ["-qq", "--no-input", "--disable-pip-version-check"]
    command = [inside, "-m", "pip", "install", *options, "--editable", f"{ROOT}[{extra}]"]
    subprocess.run(command, check=True, env=environ)


def _digest(python: tuple[int, ...]) -> str:
    parts = [repr((ROOT.as_posix(), python)).encode()]
    parts += [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _stamp_file(folder: Path, extra: str) -> Path:
    return folder / f".codriver-{extra}"


def _stamp(folder: Path, extra: str) -> str:
    try:
        return _stamp_file(folder, extra).read_text(encoding="ascii")
    except OSError:
        return ""


def main(arguments: list[str]) -> int:
    folder, extra, *rest = arguments
    try:
        ensure(ROOT / folder, sys.executable, extra, is_exact="--exactly" in rest)
    except subprocess.CalledProcessError as error:
        print(f"Setting up {folder} failed; what is above says why.", file=sys.stderr)
        return error.returncode or 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
