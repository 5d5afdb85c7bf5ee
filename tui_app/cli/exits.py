"""How a command ends: exit codes, and the two refusals it may raise. Imports nothing, for a quick start."""

OK, FAILED, USAGE = 0, 1, 2
"""Exit codes that scripts rely on."""


class CommandFailed(Exception):
    """A command could not do what was asked; the text is a sentence for a person."""


class WrongUsage(Exception):
    """The arguments make no sense together; the text is a sentence for a person."""
