"""Dependencies point one way: each part of the gateway imports its own layer and lower ones, no higher one.

A new module gets its place in `LAYERS`; one without a place fails. `voice` and `shortcuts` stand
alone: the gateway imports them, they never import the gateway.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# From the ground up.
LAYERS = (
    {"clock", "errors", "model", "platform_process", "resources", "settings", "yaml_mapping"},
    {"agents", "notes", "store", "tailnet"},
    {
        *("asking", "cursors", "delivery", "fields", "hearing", "listening", "looking", "phrases", "policy"),
        *("progress", "prose"),
        *(
            "questions",
            "routing",
            "sessions",
            "speech",
            "spoken_commands",
            "talking",
            "utterance",
            "verdict",
            "waiting_line",
        ),
    },
    {"dialog"},
    {"doors"},
    {"__main__", "cli", "demo", "doctor", "service"},
)
HEIGHTS = {part: height for height, layer in enumerate(LAYERS) for part in layer}


def parts() -> list[str]:
    """The top-level modules and packages of the gateway."""
    found = [path.stem for path in (ROOT / "gateway").glob("*.py") if path.stem != "__init__"]
    return sorted(found + [path.parent.name for path in (ROOT / "gateway").glob("*/__init__.py")])


def sources(*folder: str) -> list[Path]:
    return sorted(ROOT.joinpath(*folder).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, with its line; relative ones made absolute."""
    package = list(path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def part_of(module: str) -> str | None:
    """`phrases` for `gateway.phrases.Phrases`; None for what is not a part of the gateway."""
    names = module.split(".")
    return names[1] if names[0] == "gateway" and len(names) > 1 and names[1] in parts() else None


def test_every_part_has_one_place() -> None:
    assert [part for part in parts() if part not in HEIGHTS] == []
    assert len(HEIGHTS) == sum(len(layer) for layer in LAYERS)


@pytest.mark.parametrize("part", parts())
def test_a_part_imports_no_higher_layer(part: str) -> None:
    single = ROOT / "gateway" / f"{part}.py"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports gateway.{other}"
        for path in ([single] if single.exists() else sources("gateway", part))
        for line, module in imported(path)
        if (other := part_of(module)) and HEIGHTS.get(other, 0) > HEIGHTS.get(part, 0)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["voice", "shortcuts"])
def test_libraries_stand_alone(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources(package)
        for line, module in imported(path)
        if module.split(".")[0] in {"gateway", "voice", "shortcuts", "tests"} - {package}
    ]
    assert wrong == []


def test_the_environment_is_read_in_the_settings_and_handed_in_by_the_command_line_only() -> None:
    """`os.environ` beside the settings: only where a command starts, which hands it on."""
    allowed = {Path("gateway/cli/main.py")}
    readers = {
        path.relative_to(ROOT)
        for path in [*sources("gateway"), *sources("voice"), *sources("shortcuts")]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"})
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    }
    settings = {path for path in readers if path.parts[:2] == ("gateway", "settings")}
    assert readers - settings - allowed == set()
