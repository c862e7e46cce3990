"""Why a command could not do what it was asked to."""


class CommandFailure(Exception):
    """The text is one sentence for the user."""
