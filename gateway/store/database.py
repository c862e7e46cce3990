"""One SQLite database under the state directory, private to its owner, used from one thread.

The folder is 0700 and every file in it 0600, also under a lax umask; a symbolic link
where the database should be is refused, so that nothing else is ever written through it.
"""

import asyncio
import os
import sqlite3
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gateway.store.schema import NewerSchemaError, migrate

T = TypeVar("T")

FILE_NAME = "codriver.sqlite3"
_BUSY_S = 5.0
_RETRY_S = 0.02


class StateUnusableError(Exception):
    """The state directory or the database in it cannot be used; the text says why and what to do."""


class Database:
    """The connection and the one thread that may use it."""

    def __init__(self, state_dir: Path) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._path = _prepare(state_dir)
        try:
            self._db = self._executor.submit(_connect, self._path).result()
        except BaseException:
            self._executor.shutdown(wait=False)
            raise

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the store's thread, as one transaction: all of it happens, or none."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._transact, work)

    def close(self) -> None:
        """Finish what is queued and close the file."""
        self._executor.submit(self._db.close).result()
        self._executor.shutdown(wait=True)

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._db)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return result


def _prepare(state_dir: Path) -> Path:
    try:
        # Made one by one: `parents` would give the folders above the mode of a lax umask.
        for missing in [path for path in (*reversed(state_dir.parents), state_dir) if not path.exists()]:
            missing.mkdir(mode=0o700, exist_ok=True)
        folder = state_dir.stat()
        if folder.st_uid != os.getuid():
            raise StateUnusableError(f"The state directory {state_dir} belongs to another user.")
        if stat.S_IMODE(folder.st_mode) != 0o700:
            state_dir.chmod(0o700)
        path = state_dir / FILE_NAME
        for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))):
            _make_private(file, must_exist=file == path)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise StateUnusableError(f"The state directory {state_dir} cannot be used: {reason}.") from error
    return path


def _make_private(file: Path, *, must_exist: bool) -> None:
    """Make sure that the file is a regular one of ours, 0600; create it where it must exist."""
    if file.is_symlink():
        raise StateUnusableError(f"{file} is a symbolic link: remove it, then start again.")
    if not must_exist and not file.exists():
        return
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StateUnusableError(f"{file} is not a regular file: move it away, then start again.")
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _connect(path: Path) -> sqlite3.Connection:
    give_up_at = time.monotonic() + _BUSY_S
    while True:
        try:
            return _open(path)
        except sqlite3.OperationalError as error:
            # Turning on the journal does not wait for another process that does the same.
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY and time.monotonic() < give_up_at:
                time.sleep(_RETRY_S)
                continue
            raise StateUnusableError(
                f"The database {path} cannot be opened just now: look whether the disk is full or another"
                " program holds it, then start again."
            ) from error
        except sqlite3.DatabaseError as error:
            kind = type(error).__name__
            raise StateUnusableError(
                f"The database {path} cannot be read ({kind}): move it away, then start again."
            ) from error
        except NewerSchemaError as error:
            raise StateUnusableError(
                f"The database {path} was written by a later version of Codriver: update, or move it away."
            ) from error


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
    try:
        db.row_factory = sqlite3.Row
        # The journal files take the database's mode, 0600.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        # What is forgotten shall not stay readable in the file.
        db.execute("PRAGMA secure_delete = ON")
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db
