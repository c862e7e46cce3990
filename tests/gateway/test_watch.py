"""However many wait, a folder is watched once, and only while somebody waits."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gateway.agents.watch import Watches


@pytest.fixture
async def watches() -> AsyncIterator[Watches]:
    watches = Watches()
    yield watches
    await watches.close()


def watching() -> int:
    return len([task for task in asyncio.all_tasks() if task.get_name().startswith("watch-")])


async def test_a_change_wakes_everybody_who_waits(watches: Watches, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        waiting = [await stack.enter_async_context(watches.changes(lambda: [tmp_path])) for _ in range(20)]
        for one in waiting:
            await one.wait(0.0)
        threading.Timer(0.05, (tmp_path / "x").touch).start()
        await asyncio.wait_for(asyncio.gather(*(one.wait(30.0) for one in waiting)), 10)


async def test_two_hundred_waiters_share_one_watch(watches: Watches, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(200):
            changes = await stack.enter_async_context(watches.changes(lambda: [tmp_path]))
            await changes.wait(0.0)
        assert watching() == 1
    assert watching() == 0


async def test_many_folders_are_not_all_watched_but_their_waiters_look_anyway(
    watches: Watches, tmp_path: Path
) -> None:
    folders = [tmp_path / f"{i}" for i in range(40)]
    for folder in folders:
        folder.mkdir()
    async with AsyncExitStack() as stack:
        for folder in folders:
            changes = await stack.enter_async_context(watches.changes(lambda folder=folder: [folder]))
            await changes.wait(0.0)
        assert watching() <= 32
        await asyncio.wait_for(changes.wait(30.0), 5)


async def test_a_folder_that_is_not_there_yet_is_watched_once_it_is(watches: Watches, tmp_path: Path) -> None:
    folder = tmp_path / "later"
    async with watches.changes(lambda: [folder]) as changes:
        await changes.wait(0.0)
        assert watching() == 0
        folder.mkdir()
        await changes.wait(0.0)
        assert watching() == 1


async def test_a_wait_never_lasts_longer_than_asked(watches: Watches, tmp_path: Path) -> None:
    async with watches.changes(lambda: [tmp_path]) as changes:
        await changes.wait(0.0)
        await asyncio.wait_for(changes.wait(0.01), 5)
        await asyncio.wait_for(changes.wait(-1.0), 5)
