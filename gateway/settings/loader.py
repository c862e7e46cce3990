"""File, environment and command line become one `Settings`, or all their faults at once."""

import sys
from collections.abc import Mapping
from pathlib import Path

from gateway.settings.environment import read_environment
from gateway.settings.faults import BadSettings, Fault
from gateway.settings.file import Given, read_file
from gateway.settings.keys import Key, all_keys, sections
from gateway.settings.places import Surroundings, surroundings
from gateway.settings.settings import Settings

COMMAND_LINE = "command line"


def load(
    config: Path | None,
    environ: Mapping[str, str],
    arguments: Mapping[str, object] | None = None,
    platform: str = sys.platform,
) -> Settings:
    """The settings in force: `arguments` before environment before file before default.

    `config` is the file that `--config` names, else `CODRIVER_CONFIG` or the platform's own counts;
    only the last may be missing. `arguments` are settings from the command line by their names
    (`{"server.port": 9000}`). Errors: `BadSettings`, with every fault there is.
    """
    try:
        around = surroundings(environ, platform)
    except LookupError:
        raise BadSettings([Fault("environment", None, "HOME", "a home directory")]) from None
    keys = all_keys()
    path, is_optional = _file(config, around)
    from_file, faults = read_file(path, keys, is_optional)
    from_environment, more = read_environment(environ, keys)
    from_arguments, most = _from_arguments(arguments or {}, keys)
    faults.sort(key=lambda fault: fault.line or 0)
    faults += more + most
    if faults:
        raise BadSettings(faults)
    given = {one.key.name: one for one in [*from_file, *from_environment, *from_arguments]}
    is_file_used = path.is_file()
    state = given.get("state.dir")
    base = path.parent if state in from_file else around.working_dir
    found = {section: model(**_values(given, section)) for section, model in sections().items()}
    places = around.places(path if is_file_used else None, str(state.value) if state else "", base)
    origins = {name: one.origin for name, one in given.items()}
    return Settings.model_validate({**found, "places": places, "origins": origins})


def _file(config: Path | None, around: Surroundings) -> tuple[Path, bool]:
    """The settings file, and whether it may be missing."""
    if config is not None:
        return around.expand(str(config), around.working_dir), False
    named = around.named_config_file()
    return (named, False) if named else (around.default_config_file(), True)


def _from_arguments(
    arguments: Mapping[str, object], keys: tuple[Key, ...]
) -> tuple[list[Given], list[Fault]]:
    by_name = {key.name: key for key in keys}
    given, faults = [], []
    for name, value in arguments.items():
        try:
            given.append(Given(by_name[name], by_name[name].checked(value), COMMAND_LINE))
        except ValueError:
            faults.append(Fault(COMMAND_LINE, None, name, by_name[name].expected))
    return given, faults


def _values(given: Mapping[str, Given], section: str) -> dict[str, object]:
    return {one.key.key: one.value for one in given.values() if one.key.section == section}
