"""Where a repository comes from, as its git configuration says it: the same name on every machine."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

_SECTION = re.compile(r'\s*\[\s*(\w+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_VALUE = re.compile(r"\s*(\w+)\s*=\s*(.*)")
_SHORT_FORM = re.compile(r"(?:[^@/\s]+@)?(\[[0-9A-Fa-f:]+\]|[\w.-]{2,}):(?!//)(.+)")
"""``git@host:path``; one letter in front of the colon is a drive."""
_USUAL_PORTS = {"http": 80, "https": 443}
_HERE = re.compile(r"localhost|.*\.localhost|127\.[\d.]+|::1|0\.0\.0\.0")
"""Hosts that are another one on every machine."""
_LONGEST = 500


def remote_of(config: str) -> str:
    """Name of the repository that this one was cloned from: ``origin``, or the only remote there is.

    Args:
        config: Text of git's ``config``.

    Returns:
        Host and path without user, password and ``.git``; empty where no other machine can know it.
    """
    remotes = {
        section: value for section, name, key, value in _values(config) if (name, key) == ("remote", "url")
    }
    address = remotes.get("origin", "")
    if not address and len(remotes) == 1:
        (address,) = remotes.values()
    return shared_name(address)


def worktree_named(config: str) -> str:
    """The folder that a git folder away from its files says it belongs to; empty for none."""
    found = (value for _, name, key, value in _values(config) if (name, key) == ("core", "worktree"))
    return next(found, "")


def shared_name(address: str) -> str:
    """An address as every machine may write it, whichever protocol each of them uses."""
    if short := _SHORT_FORM.fullmatch(address):
        return _joined(short[1].strip("[]"), None, short[2])
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not host or parts.scheme == "file":
        return ""
    # Who comes by another protocol than the web's comes to the same server by another door.
    port = port if parts.scheme in _USUAL_PORTS and port != _USUAL_PORTS[parts.scheme] else None
    return _joined(host, port, parts.path)


def _joined(host: str, port: int | None, path: str) -> str:
    host, path = host.lower(), path.strip("/").removesuffix(".git").strip("/")
    name = f"{host}:{port}/{path}" if port else f"{host}/{path}"
    if not path or _HERE.fullmatch(host) or len(name) > _LONGEST or not name.isprintable():
        return ""
    return name


def _values(config: str) -> Iterator[tuple[str, str, str, str]]:
    """Subsection, section, key and value of each line that has one."""
    section, sub = "", ""
    for line in config.splitlines():
        head = _SECTION.match(line)
        if head:
            section, sub = head[1].lower(), re.sub(r"\\(.)", r"\1", head[2] or "")
        if found := _VALUE.match(line, head.end() if head else 0):
            value = found[2].strip()
            quoted = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else ""
            yield sub, section, found[1].lower(), quoted or re.split(r"\s[#;]", value)[0].strip()
