"""Where sessions are kept, as a person sets it: the address of a server, which may hold a password."""

from urllib.parse import parse_qsl, unquote, urlsplit

from tui_app.settings.rules import Text

STORE = Text(
    r"(postgres(ql)?://\S+)?",
    "postgresql://USER@HOST/DATABASE, or nothing for the file on this machine",
    secret_prone=True,
)
STORE_VARIABLE = "PLIMSOLL_STORE"
_SECRETS = ("password", "sslpassword")
"""Parts of an address behind its question mark that are secret."""


def shown_store(address: str) -> str:
    """An address as it may be shown: user, host, port and database, nothing else."""
    if not address:
        return ""
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return f"{parts.scheme}://{f'{name}@' if name else ''}{host}{parts.path}"


def store_secrets(address: str) -> tuple[str, ...]:
    """The passwords in an address, as they stand there and as they are meant."""
    if not address:
        return ()
    parts = urlsplit(address)
    user = parts.netloc.rpartition("@")[0]
    found = [user.partition(":")[2], *(value for key, value in parse_qsl(parts.query) if key in _SECRETS)]
    return tuple(dict.fromkeys(each for raw in found if raw for each in (raw, unquote(raw))))
