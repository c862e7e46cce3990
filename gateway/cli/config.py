"""`codriver config check|show`: are the settings in order, and which are in force."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import yaml

from gateway.phrases import BadPhrases, Phrases
from gateway.settings import BadSettings, Settings, load, masked
from gateway.spoken_commands import BadSpokenCommands, SpokenCommands


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `config` with its two commands to the command line."""
    parser = subparsers.add_parser("config", help="check the settings, or show those in force")
    commands = parser.add_subparsers(dest="config_command", required=True, metavar="check|show")
    for name, told in (
        ("check", "say everything that is wrong with the settings file and the environment"),
        ("show", "print the settings in force and where each comes from, secrets masked"),
    ):
        command = commands.add_parser(name, help=told, description=told.capitalize() + ".")
        command.add_argument("--config", type=Path, metavar="F", help="this settings file")
        command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Carry the command out. 0: the settings can be used; 1: they cannot, and each fault is told."""
    try:
        settings = load(args.config, environ)
        Phrases.load(settings.speech.language)
        SpokenCommands.load(settings.speech.language)
    except BadSettings as error:
        return _tell_faults(error, args.json, out, err)
    except (BadPhrases, BadSpokenCommands) as error:
        print(error, file=err)
        return 1
    if args.config_command == "show":
        _show(settings, args.json, out)
    else:
        _tell_fine(settings, args.json, out)
    return 0


def _tell_faults(error: BadSettings, as_json: bool, out: TextIO, err: TextIO) -> int:
    if as_json:
        faults = [
            {"source": fault.source, "line": fault.line, "key": fault.key, "expected": fault.expected}
            for fault in error.errors
        ]
        print(json.dumps({"ok": False, "faults": faults}, indent=2), file=out)
        return 1
    count = len(error.errors)
    print(error, file=err)
    print(f"{count} fault{'' if count == 1 else 's'} in the settings.", file=err)
    return 1


def _tell_fine(settings: Settings, as_json: bool, out: TextIO) -> None:
    file = settings.places.config_file
    if as_json:
        print(json.dumps({"ok": True, "file": str(file) if file else None, "faults": []}, indent=2), file=out)
        return
    print(f"The settings are in order ({file or 'no settings file; defaults and environment'}).", file=out)


def _show(settings: Settings, as_json: bool, out: TextIO) -> None:
    shown = masked(settings)
    if as_json:
        print(json.dumps(shown, indent=2, ensure_ascii=False), file=out)
        return
    for section, keys in shown.items():
        print(f"{section}:", file=out)
        for key, one in keys.items():
            line = f"  {key}: {_flow(one['value'])}"
            print(line if one["from"] == "default" else f"{line:<40}  # {one['from']}", file=out)


def _flow(value: object) -> str:
    """The value as one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")
