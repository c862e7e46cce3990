"""`codriver config`: says what is in force, or everything that is wrong, and never a secret."""

import argparse
import io
import json
from pathlib import Path

import pytest
import yaml

from gateway.cli import config

SECRET = "hunter2"


def run(tmp_path: Path, *words: str, **environ: str) -> tuple[int, str, str]:
    parser = argparse.ArgumentParser(prog="codriver")
    config.add_parser(parser.add_subparsers())
    out, err = io.StringIO(), io.StringIO()
    code = config.run(parser.parse_args(["config", *words]), {"HOME": str(tmp_path), **environ}, out, err)
    return code, out.getvalue(), err.getvalue()


def values(shown: dict) -> list[tuple[str, str, object]]:
    return [(section, key, one["value"]) for section, keys in shown.items() for key, one in keys.items()]


def test_check_says_that_all_is_well(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "check")
    assert (code, err) == (0, "")
    assert out.startswith("The settings are in order")
    assert json.loads(run(tmp_path, "check", "--json")[1]) == {"ok": True, "file": None, "faults": []}


def test_check_tells_every_fault_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("server: {port: x}\nsever: 1\n", "utf-8")
    code, out, err = run(tmp_path, "check", "--config", str(path), CODRIVER_TOKN=SECRET)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == "3 faults in the settings."
    assert SECRET not in err
    code, out, err = run(tmp_path, "check", "--json", "--config", str(path), CODRIVER_TOKN=SECRET)
    faults = json.loads(out)["faults"]
    assert (code, err, len(faults)) == (1, "", 3)
    assert faults[0] == {
        "source": str(path),
        "line": 1,
        "key": "server.port",
        "expected": "a whole number from 0 to 65535",
    }


def test_show_prints_yaml_that_gives_the_same_settings(tmp_path: Path) -> None:
    environ = {
        "CODRIVER_ALLOW": "a, b: c,#d",
        "CODRIVER_SESSIONS_ALIASES": '{"é": "x: y"}',
        "CODRIVER_PORT": "1",
    }
    code, out, _ = run(tmp_path, "show", **environ)
    assert code == 0
    assert "# environment CODRIVER_PORT" in out
    path = tmp_path / "again.yaml"
    path.write_text(out, "utf-8")
    assert yaml.safe_load(out)["sessions"]["allow"] == ["a", "b: c", "#d"]
    first = json.loads(run(tmp_path, "show", "--json", **environ)[1])
    second = json.loads(run(tmp_path, "show", "--json", "--config", str(path))[1])
    values = [
        {s: {k: one["value"] for k, one in keys.items()} for s, keys in shown.items()}
        for shown in (first, second)
    ]
    assert values[0] == values[1]
    assert second["server"]["port"]["from"] == f"{path}:3"


@pytest.mark.parametrize("words", [("show",), ("show", "--json"), ("check",), ("check", "--json")])
def test_a_secret_is_never_shown(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, out, err = run(tmp_path, *words, CODRIVER_TOKEN=SECRET)
    assert code == 0
    assert SECRET not in out + err


def test_show_of_settings_that_cannot_be_used_fails_like_check(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "show", "--config", str(tmp_path / "none.yaml"))
    assert (code, out) == (1, "")
    assert "none.yaml" in err


@pytest.mark.parametrize("words", [(), ("shw",), ("check", "--nope")])
def test_bad_usage_exits_with_2(tmp_path: Path, words: tuple[str, ...], capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        run(tmp_path, *words)
    assert caught.value.code == 2
    capsys.readouterr()
