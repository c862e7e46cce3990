"""What every live scenario shares: one CLI, one isolated home, one model, one service.

Sessions are started when a scenario first asks for them and kept for its module; a
scenario that leaves its session busy or parked gets it replaced, so that one failure
does not become ten.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NoReturn

import pytest
import pytest_asyncio

from tests.live.cli import CliMissing, fetch
from tests.live.home import IsolatedHome
from tests.live.model_standin import ModelStandin
from tests.live.service import Client, serving
from tests.live.stage import Stage
from tests.live.terminal import Session, Terminal

PROJECTS = ("amber", "birch", "cedar", "holly", "rowan")
RETRIES = "2"  # the CLI's own default retries a failing request for minutes


def _not_here(reason: str) -> NoReturn:
    """In CI everything has to run; elsewhere the scenarios are reported by name as not run."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def claude() -> Path:
    """The pinned CLI, together with the terminal it needs."""
    if shutil.which("tmux") is None:
        _not_here("tmux is not installed, and the CLI needs a terminal.")
    try:
        return fetch()
    except CliMissing as missing:
        _not_here(str(missing))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage(claude: Path) -> AsyncIterator[Stage]:
    home = IsolatedHome.create(PROJECTS)
    left: list[str] = []
    try:
        async with ModelStandin().serving() as model:
            environment = {"ANTHROPIC_BASE_URL": model.url, "CLAUDE_CODE_MAX_RETRIES": RETRIES}
            terminal = Terminal(claude, home, environment)
            try:
                async with serving(home) as service:
                    yield Stage(home, model, terminal, service)
            finally:
                left = await terminal.end()
    finally:
        await asyncio.to_thread(home.end_processes, 0.0)
        home.remove()
    assert left == [], "the suite left something behind"


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def _fresh_sessions(stage: Stage) -> AsyncIterator[None]:
    """Each module starts with new sessions."""
    yield
    await stage.clear()


@pytest.fixture
def model(stage: Stage) -> ModelStandin:
    return stage.model


@pytest.fixture
def client(stage: Stage, request: pytest.FixtureRequest) -> Client:
    """A client of this test alone, so that no cursor of another test is in its way."""
    return stage.service.client.named(request.node.name[:60])


@pytest_asyncio.fixture(loop_scope="session")
async def amber(stage: Stage) -> Session:
    """The session most scenarios share."""
    return await stage.idle("amber")


@pytest_asyncio.fixture(loop_scope="session")
async def birch(stage: Stage) -> Session:
    """The second one, where two are needed at once."""
    return await stage.idle("birch")


@pytest_asyncio.fixture(loop_scope="session")
async def passing(stage: Stage) -> AsyncIterator[Callable[..., Awaitable[Session]]]:
    """Starts sessions of this test alone, with CLI settings of their own; closed afterwards."""
    started: list[Session] = []

    async def start(name: str, **settings: str) -> Session:
        session = await stage.terminal.start(name, **settings)
        started.append(session)
        return session

    yield start
    for session in started:
        await stage.terminal.close(session)
