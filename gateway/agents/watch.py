"""Tells waiters that something changed in a folder, through one file-system watch per folder.

However many requests wait for one session, its folder is watched once, and only
while somebody waits. Events are hints: a waiter always looks for itself, and also
looks when nothing was reported for a while (network file systems report nothing).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from watchfiles import awatch

# watchfiles collects events for 50 ms unless told otherwise; an answer should not wait for that.
_STEP_MS = 5
_DEBOUNCE_MS = 20
# Each watch holds one of the 40 threads that anyio lends.
_MAX_WATCHES = 32
# What a missing event costs at most.
_LOOK_ANYWAY_S = 0.5


class _Watch:
    """One folder's watch: a task that sets an event for everybody who waits."""

    def __init__(self, folder: Path) -> None:
        self.waiters: set[asyncio.Event] = set()
        self._stop = asyncio.Event()
        self.task = asyncio.create_task(self._run(folder), name=f"watch-{folder.name}")

    async def _run(self, folder: Path) -> None:
        changes = awatch(
            folder,
            recursive=False,
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            stop_event=self._stop,
            watch_filter=None,
            ignore_permission_denied=True,
        )
        try:
            async for _ in changes:
                for waiter in self.waiters:
                    waiter.set()
        except OSError:
            # The folder went away or no watch can be had: waiters still look on their timer.
            return

    async def close(self) -> None:
        self._stop.set()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Changes:
    """What one waiter waits on. `folders` is asked again on each wait: a folder may appear later."""

    def __init__(self, watches: "Watches", folders: Callable[[], Iterable[Path]]) -> None:
        self._watches = watches
        self._folders = folders
        self._watched: dict[Path, _Watch] = {}
        self._event = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Return once something changed since the last wait, or after `timeout_s` seconds at the latest."""
        if self._watch_more():
            return
        try:
            async with asyncio.timeout(max(0.0, min(timeout_s, _LOOK_ANYWAY_S))):
                await self._event.wait()
        except TimeoutError:
            return
        self._event.clear()

    def _watch_more(self) -> bool:
        """Watch folders that are new or whose watch ended; True if something may have been missed."""
        has_new = False
        for folder in self._folders():
            watch = self._watched.get(folder)
            if watch is not None and not watch.task.done():
                continue
            fresh = self._watches.join(folder, self._event)
            if fresh is not None:
                self._watched[folder] = fresh
                has_new = True
        return has_new

    async def leave(self) -> None:
        """Wait no longer."""
        for folder, watch in self._watched.items():
            await self._watches.leave(folder, watch, self._event)


class Watches:
    """All watches of the service. Use from one event loop."""

    def __init__(self) -> None:
        self._watches: dict[Path, _Watch] = {}

    @asynccontextmanager
    async def changes(self, folders: Callable[[], Iterable[Path]]) -> AsyncIterator[Changes]:
        """Changes in these folders from now on."""
        changes = Changes(self, folders)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(changes.leave)
            yield changes

    def join(self, folder: Path, event: asyncio.Event) -> _Watch | None:
        """Set the event on each change in the folder; None where it cannot be watched now."""
        watch = self._watches.get(folder)
        if watch is None or watch.task.done():
            if len(self._watches) >= _MAX_WATCHES or not folder.is_dir():
                return None
            watch = self._watches[folder] = _Watch(folder)
        watch.waiters.add(event)
        return watch

    async def leave(self, folder: Path, watch: _Watch, event: asyncio.Event) -> None:
        """End what `join` began; the last one to leave ends the watch."""
        watch.waiters.discard(event)
        if watch.waiters:
            return
        if self._watches.get(folder) is watch:
            del self._watches[folder]
        await watch.close()

    async def close(self) -> None:
        """End all watches."""
        watches, self._watches = list(self._watches.values()), {}
        for watch in watches:
            await watch.close()
