"""The one value that the rest of the gateway is handed."""

from collections.abc import Mapping
from pathlib import Path

from gateway.settings.model import Sections
from gateway.settings.places import Places


class Settings(Sections):
    """All sections, and what the environment says beside them. Frozen.

    `origins` holds, for each key that was set (`server.port`), where; a key not in it has its default.
    """

    places: Places
    origins: Mapping[str, str] = {}

    @property
    def state_dir(self) -> Path:
        """Where the database is: `state.dir`, else the platform's state directory."""
        return self.places.state_dir

    @property
    def claude_config_dir(self) -> Path:
        """Claude Code's own directory: `CLAUDE_CONFIG_DIR`, else `$HOME/.claude`."""
        return self.places.claude_config_dir

    @property
    def runtime_dir(self) -> Path | None:
        """`XDG_RUNTIME_DIR`, None where it is unset."""
        return self.places.runtime_dir
