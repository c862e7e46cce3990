"""The shared set of a run: home, model, terminal and service, and the sessions on it."""

from dataclasses import dataclass

from tests.live.home import IsolatedHome
from tests.live.model_standin import ModelStandin
from tests.live.service import Service
from tests.live.terminal import Session, SessionFailed, Terminal


@dataclass(frozen=True, slots=True)
class Stage:
    home: IsolatedHome
    model: ModelStandin
    terminal: Terminal
    service: Service

    async def idle(self, name: str) -> Session:
        """The session called `name`, ready for a prompt: the running one, else a new one."""
        session = self.terminal.sessions.get(name)
        if session is not None:
            try:
                await session.until("idle", limit_s=5.0)
                return session
            except SessionFailed:
                await self.terminal.close(session)
        return await self.terminal.start(name)

    async def clear(self) -> None:
        """Close every session: the CLI takes 30 messages in a burst, then one every two seconds."""
        for session in list(self.terminal.sessions.values()):
            await self.terminal.close(session)
