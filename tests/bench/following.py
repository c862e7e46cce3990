"""What one poll of a transcript costs: in proportion to new bytes, whatever the file's size."""

import json
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gateway.agents.claude_code.reader import TranscriptReader
from tests.bench.report import Figure, percentile
from tests.gateway.fake_session import text, tool_result, turn_duration, user

SMALL_MB, LARGE_MB = 1, 500
POLLS = 200
BAR_RATIO = 1.5
BAR_GROWTH_MB = 8.0


def measure() -> list[Figure]:
    """Polls of a small and a large transcript, interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = (_transcript(Path(folder), size) for size in (SMALL_MB, LARGE_MB))
        first_small, first_large = _first_look(small), _first_look(large)
        readers = [TranscriptReader(small), TranscriptReader(large)]
        for reader in readers:
            reader.refresh()
        before = _memory_mb()
        took: list[list[float]] = [[], []]
        for i in range(POLLS):
            for reader, times in zip(readers, took, strict=True):
                _append(reader.path, [text(f"step {i}"), turn_duration()])
                began = time.perf_counter()
                after = reader.end
                reader.refresh()
                reader.turns(after)
                times.append((time.perf_counter() - began) * 1000)
        growth = _memory_mb() - before
    small_ms, large_ms = (percentile(times, 0.5) for times in took)
    ratio = large_ms / small_ms
    return [
        Figure(
            name=f"a poll of {LARGE_MB} MB against {SMALL_MB} MB",
            measured=f"{ratio:.2f}× (p50 {large_ms:.2f} ms and {small_ms:.2f} ms)",
            bar=f"at most {BAR_RATIO}×",
            is_met=ratio <= BAR_RATIO,
            values={"ratio": ratio, "small_ms": small_ms, "large_ms": large_ms},
        ),
        Figure(
            name=f"memory over {2 * POLLS} polls",
            measured=f"+{growth:.1f} MB",
            bar=f"at most +{BAR_GROWTH_MB:.0f} MB",
            is_met=growth <= BAR_GROWTH_MB,
            values={"growth_mb": growth},
        ),
        Figure(
            name=f"first look at {LARGE_MB} MB against {SMALL_MB} MB",
            measured=f"{first_large:.1f} ms and {first_small:.1f} ms",
            bar="reads the tail only (told, no bar)",
            is_met=True,
            values={"small_ms": first_small, "large_ms": first_large},
        ),
    ]


def _first_look(path: Path) -> float:
    began = time.perf_counter()
    TranscriptReader(path).refresh()
    return (time.perf_counter() - began) * 1000


def _transcript(folder: Path, size_mb: int) -> Path:
    path = folder / f"{size_mb}.jsonl"
    turn = [
        user("go on"),
        *(tool_result(f"t{i}", "x" * 2000) for i in range(20)),
        text("Done."),
        turn_duration(),
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in turn)
    with path.open("wb") as file:
        for _ in range(size_mb * 1_000_000 // len(data) + 1):
            file.write(data)
    return path


def _append(path: Path, lines: Sequence[dict[str, object]]) -> None:
    with path.open("ab") as file:
        for line in lines:
            file.write(json.dumps(line).encode() + b"\n")


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
