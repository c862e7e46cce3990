"""Where things are for this user, as the environment and the platform say; resolved once."""

import os
import pwd
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_APP = "codriver"
_CONFIG_NAME = "codriver.yaml"


@dataclass(frozen=True, slots=True)
class Places:
    """Absolute paths, none of them checked for existence.

    `config_file` is the settings file that was read, None where there was none.
    `runtime_dir` is `XDG_RUNTIME_DIR`, None where it is unset. `gateway_url` and `client_name`
    (`CODRIVER_URL`, `CODRIVER_CLIENT`) are what the command line's own requests use; empty if unset.
    """

    home: Path
    config_file: Path | None
    state_dir: Path
    claude_config_dir: Path
    runtime_dir: Path | None
    gateway_url: str
    client_name: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment and the platform that places are found in; made by `surroundings`."""

    environ: Mapping[str, str]
    home: Path
    working_dir: Path
    is_mac: bool

    def default_config_file(self) -> Path:
        """`codriver/codriver.yaml` in the platform's config directory."""
        base = self._library() if self.is_mac else self._xdg("XDG_CONFIG_HOME", ".config")
        return base / _APP / _CONFIG_NAME

    def named_config_file(self) -> Path | None:
        """What `CODRIVER_CONFIG` names, None where it is unset or empty."""
        named = self.environ.get("CODRIVER_CONFIG", "")
        return self.expand(named, self.working_dir) if named else None

    def places(self, config_file: Path | None, state_dir: str, base: Path) -> Places:
        """All places. `state_dir` is the setting: empty for the default, relative to `base`."""
        claude = self.environ.get("CLAUDE_CONFIG_DIR", "")
        runtime = self.environ.get("XDG_RUNTIME_DIR", "")
        return Places(
            home=self.home,
            config_file=config_file,
            state_dir=self.expand(state_dir, base) if state_dir else self._default_state_dir(),
            claude_config_dir=self.expand(claude, self.working_dir) if claude else self.home / ".claude",
            runtime_dir=self.expand(runtime, self.working_dir) if runtime else None,
            gateway_url=self.environ.get("CODRIVER_URL", ""),
            client_name=self.environ.get("CODRIVER_CLIENT", ""),
        )

    def expand(self, text: str, base: Path) -> Path:
        """An absolute path: `~` is the home directory, a relative one begins at `base`."""
        path = Path(text)
        if path.parts[:1] == ("~",):
            return self.home.joinpath(*path.parts[1:])
        return base / path

    def _default_state_dir(self) -> Path:
        base = self._library() if self.is_mac else self._xdg("XDG_STATE_HOME", ".local/state")
        return base / _APP

    def _library(self) -> Path:
        return self.home / "Library" / "Application Support"

    def _xdg(self, name: str, fallback: str) -> Path:
        # A relative value is to be ignored: XDG Base Directory Specification 0.8.
        value = Path(self.environ.get(name, ""))
        return value if value.is_absolute() else self.home / fallback


def surroundings(environ: Mapping[str, str], platform: str = sys.platform) -> Surroundings:
    """What the environment says. Without `HOME` the home directory is the one in the user database.

    Errors: `LookupError` where there is no home directory at all.
    """
    home = environ.get("HOME", "")
    if not home:
        home = pwd.getpwuid(os.getuid()).pw_dir
    working_dir = Path.cwd()
    return Surroundings(environ, working_dir / home, working_dir, is_mac=platform == "darwin")
