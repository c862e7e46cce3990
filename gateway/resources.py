"""Where the files of `config/` are: in the wheel beside the code, in a checkout one folder up."""

from pathlib import Path

_IN_THE_WHEEL = Path(__file__).parent / "config"
_IN_A_CHECKOUT = Path(__file__).parent.parent / "config"


def path(name: str) -> Path:
    """The shipped file of that name, like `phrases/en.yaml`. Whether it exists is not checked."""
    root = _IN_THE_WHEEL if _IN_THE_WHEEL.is_dir() else _IN_A_CHECKOUT
    return root / name


def languages() -> tuple[str, ...]:
    """The languages that have a phrases file, sorted."""
    return tuple(sorted(file.stem for file in path("phrases").glob("*.yaml")))
