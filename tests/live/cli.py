"""The real Claude Code CLI in its pinned version, fetched once into a cache directory.

Raises `CliMissing`, with what to do, where it cannot be had: no npm, no such platform,
a download that failed, or another version than the pinned one.
"""

import contextlib
import fcntl
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.332"
INSTALL_TIMEOUT_S = 300
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class CliMissing(Exception):
    """The CLI cannot be run here; the text says why in one sentence."""


def default_cache() -> Path:
    """`.cache/claude-code-<version>` in the root of the repository."""
    return Path(__file__).resolve().parents[2] / ".cache" / f"claude-code-{VERSION}"


def platform_package() -> str:
    """The npm package that holds this machine's binary.

    The main package names one per platform as an optional dependency; its post-install
    step only links it, so the binary is run from where npm puts it.
    """
    architecture = _ARCHITECTURES.get(platform.machine().lower())
    system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform)
    if architecture is None or system is None:
        raise CliMissing(f"Claude Code has no build for {sys.platform} on {platform.machine()}.")
    is_musl = system == "linux" and platform.libc_ver()[0] != "glibc"
    return f"{PACKAGE}-{system}-{architecture}{'-musl' if is_musl else ''}"


def fetch(cache: Path | None = None) -> Path:
    """The path of the binary; installed by npm first where the cache has none."""
    target = default_cache() if cache is None else cache
    binary = target / "node_modules" / platform_package() / "claude"
    if not binary.is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise CliMissing("npm is not installed, so Claude Code cannot be fetched.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(target.with_name(f"{target.name}.lock")):
            if not binary.is_file():
                _install(npm, target)
    _check_version(binary)
    return binary


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Two runs at once must not install into one directory."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _install(npm: str, target: Path) -> None:
    """Install beside the target and rename, so that a broken download leaves no half cache."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="installing-") as scratch:
        fresh = Path(scratch) / "cli"
        fresh.mkdir()
        manifest = {"private": True, "dependencies": {PACKAGE: VERSION}}
        (fresh / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
        command = [npm, "install", "--prefix", str(fresh), "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            done = subprocess.run(
                command, cwd=fresh, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as late:
            raise CliMissing(f"npm took longer than {INSTALL_TIMEOUT_S} s to fetch Claude Code.") from late
        if done.returncode != 0:
            raise CliMissing(f"npm could not fetch {PACKAGE}@{VERSION}: {done.stderr.strip()[-400:]}")
        if target.exists():
            shutil.rmtree(target)
        fresh.rename(target)


def _check_version(binary: Path) -> None:
    if not binary.is_file():
        raise CliMissing(f"npm installed {PACKAGE} without {platform_package()}.")
    with tempfile.TemporaryDirectory(prefix="live-") as home:
        done = subprocess.run(
            [str(binary), "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={"HOME": home, "PATH": "/usr/bin:/bin", "DISABLE_AUTOUPDATER": "1"},
        )
    found = done.stdout.split()[:1]
    if found != [VERSION]:
        raise CliMissing(f"the cached Claude Code says version {found}, not {VERSION}: delete its cache.")
