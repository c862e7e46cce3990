"""What is documented is what there is: settings, commands, make targets, links, the version."""

import argparse
import itertools
import re
import subprocess
from pathlib import Path

import pytest
import yaml

import gateway
from gateway.settings import load
from gateway.settings.keys import all_keys, sections
from gateway.settings.shown import masked

ROOT = Path(__file__).parent.parent
DEFAULTS = ROOT / "config" / "codriver.yaml"
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:root|work)(?:/|\b)")
TEXT = {
    *(".cfg", ".html", ".js", ".json", ".md", ".plist", ".py"),
    *(".service", ".sh", ".toml", ".txt", ".yaml", ".yml"),
}


def tracked() -> list[Path]:
    """The files that git knows or would add; without git, as in an unpacked archive, all but what is made."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
            "\0"
        )
        return sorted(ROOT / name for name in listed if name and (ROOT / name).is_file())
    except (OSError, subprocess.CalledProcessError):
        made = re.compile(r"/(\.venv[^/]*|\.git|__pycache__|\.[a-z]+_cache|\.hypothesis|dist|build)/")
        files = (path for path in ROOT.rglob("*") if path.is_file())
        return sorted(path for path in files if not made.search(f"/{path.relative_to(ROOT)}"))


DOCUMENTS = [path for path in tracked() if path.suffix == ".md"]
RANGED = [key for key in all_keys() if " from " in key.expected]


def document(name: str) -> str:
    """A document at the root; the test is skipped, by name, until it has been written."""
    path = ROOT / name
    text = path.read_text("utf-8") if path.exists() else ""
    if len(text.splitlines()) < 5:
        pytest.skip(f"{name} has not been written yet")
    return text


@pytest.mark.parametrize("key", all_keys(), ids=lambda key: key.name)
def test_the_documented_default_is_the_real_one(key) -> None:
    shown = yaml.safe_load(DEFAULTS.read_text("utf-8"))[key.section]
    assert key.key in shown, f"{key.name} is not documented"
    documented, real = key.checked(shown[key.key]), key.checked(key.default)
    assert documented == real
    assert type(documented) is type(real)


def test_nothing_is_documented_that_there_is_not() -> None:
    shown = yaml.safe_load(DEFAULTS.read_text("utf-8"))
    assert list(shown) == list(sections())
    names = [f"{section}.{key}" for section, keys in shown.items() for key in keys]
    assert names == [key.name for key in all_keys()]


def test_the_documented_file_loads_and_changes_nothing(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    plain, documented = load(None, environ), load(DEFAULTS, environ)
    for section, keys in masked(plain).items():
        for key, one in keys.items():
            assert masked(documented)[section][key]["value"] == one["value"]


def test_every_documented_key_has_its_reason() -> None:
    lines = DEFAULTS.read_text("utf-8").splitlines()
    bare = [
        line.strip()
        for before, line in itertools.pairwise(lines)
        if re.match(r"  [a-z_]+:", line) and not before.startswith("  # ")
    ]
    assert bare == []


@pytest.mark.parametrize("key", RANGED, ids=lambda key: key.name)
def test_a_range_is_documented_as_it_is(key) -> None:
    low, high = re.search(r"from (\S+) to (\S+)", key.expected).groups()
    lines = DEFAULTS.read_text("utf-8").splitlines()
    start = lines.index(f"{key.section}:")
    at = next(number for number in range(start, len(lines)) if lines[number].startswith(f"  {key.key}:"))
    above = []
    while lines[at - 1].startswith("  #"):
        at -= 1
        above.append(lines[at])
    assert re.search(rf"\({low} to {high}\b", "\n".join(above)), f"({low} to {high})"


@pytest.mark.parametrize("section", sections())
def test_the_readme_names_every_section(section: str) -> None:
    assert re.search(rf"`{section}[`.:]", document("README.md"))


def test_the_readme_names_every_command() -> None:
    text = document("README.md")
    main = pytest.importorskip("gateway.cli.main")
    if not hasattr(main, "parser"):
        pytest.skip("the command line has no parser() yet")
    actions = [a for a in main.parser()._actions if isinstance(a, argparse._SubParsersAction)]
    assert [name for action in actions for name in action.choices if f"codriver {name}" not in text] == []


def test_the_readme_names_only_make_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^\s*\$?\s*)make ([a-z]+)", document("README.md"), re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named - targets == set()


def test_make_help_tells_every_target() -> None:
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    phony = next(line for line in lines if line.startswith(".PHONY:")).split()[1:]
    told = {line.split(":")[0] for line in lines if re.match(r"[a-z]+:.*## ", line)}
    assert set(phony) - told == {"python", "embedded", "testing"}


def test_the_changelog_has_the_current_version() -> None:
    assert re.search(rf"^## \[?{re.escape(gateway.__version__)}\b", document("CHANGELOG.md"), re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [target.split("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    assert [target for target in local if not (path.parent / target).exists()] == []


def test_decisions_are_numbered_without_gap_or_double() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert len(numbers) == len(set(numbers))
    if 1 in numbers:
        assert numbers == list(range(1, len(numbers) + 1))


def test_no_file_holds_a_path_of_the_machine_it_was_written_on() -> None:
    here = Path(__file__)
    texts = [path for path in tracked() if (path.suffix in TEXT or not path.suffix) and path != here]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in texts
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def test_no_source_file_is_longer_than_400_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {count}"
        for path in tracked()
        if path.suffix == ".py" and (count := path.read_bytes().count(b"\n")) > 400
    ]
    assert long == []
