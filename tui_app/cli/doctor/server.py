"""A check of the server that keeps the sessions."""

from tui_app.cli.doctor.report import Check, fail, ok
from tui_app.context.storage_errors import StorageError
from tui_app.session.location import Server
from tui_app.session.stores import has_begun, open_store


def check_server(server: Server) -> Check:
    """Whether the server can be used, and what is there; nothing is changed."""
    name = "sessions"
    try:
        if not has_begun(server):
            return ok(name, f"none yet on {server.shown}")
        store = open_store(server, read_only=True)
        try:
            count = len(store.sessions())
        finally:
            store.close()
    except StorageError as error:
        return fail(name, error.message, error.hint)
    return ok(name, f"{count:,} on {server.shown}")
