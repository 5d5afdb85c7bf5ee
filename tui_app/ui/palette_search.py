"""Finding a command in the palette: by its name, as Textual does, and by the words for its purpose."""

from collections.abc import AsyncIterator

from textual.command import Hit
from textual.system_commands import SystemCommandsProvider

_BEHIND = 0.01
"""Share of a name's score that a purpose has: what is named so comes first."""


class PurposeProvider(SystemCommandsProvider):
    """Offers what the application offers."""

    async def search(self, query: str) -> AsyncIterator[Hit]:
        """Yield the commands that a query names, and those whose purpose holds all its words."""
        matcher, words = self.matcher(query), query.lower().split()
        for name, purpose, callback, *_ in self.app.get_system_commands(self.screen):
            score = matcher.match(name)
            told = f"{name} {purpose}".lower()
            if score > 0:
                yield Hit(score, matcher.highlight(name), callback, help=purpose)
            elif words and all(word in told for word in words):
                yield Hit(_BEHIND, name, callback, help=purpose)
