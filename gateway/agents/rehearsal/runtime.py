"""The rehearsal session behind the agent protocol.

It writes a real registry record, listens on a real socket and keeps a real transcript,
so it is reached the way any session is; only its own directory is looked at.
"""

from gateway.agents.claude_code import ClaudeCode
from gateway.agents.rehearsal.process import RehearsalProcess


class Rehearsal(ClaudeCode):
    """The one session in a rehearsal's private directory."""

    def __init__(self, process: RehearsalProcess) -> None:
        super().__init__(process.config_dir)
