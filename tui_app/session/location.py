"""Where sessions are kept: a file of this machine, or a server that several machines share."""

from dataclasses import dataclass, field
from pathlib import Path

from tui_app.settings.spec import shown_store, store_secrets


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL database that several machines share."""

    url: str = field(repr=False)
    """Its address; may hold a password."""

    @property
    def shown(self) -> str:
        """The address without any secret."""
        return shown_store(self.url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of the address must not be shown."""
        return store_secrets(self.url)


Database = Path | Server


def database_of(store: str, file: Path) -> Database:
    """Where sessions are kept.

    Args:
        store: The setting of that name; empty for this machine's file.
        file: That file.
    """
    return Server(store) if store else file
