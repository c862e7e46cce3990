"""Claude Code sessions: found in its registry, reached by their sockets, heard in their transcripts.

The interface is undocumented and was observed from outside on CLI 2.1.332. Every rule
degrades to doing less when something is not as expected.
"""

from gateway.agents.claude_code.runtime import ClaudeCode

__all__ = ["ClaudeCode"]
