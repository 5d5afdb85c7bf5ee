"""``plimsoll serve`` as a process, and its screens over the web socket."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.servers.chromium import Page

_CONTROLS = re.compile(rb"\x1b\[[0-9;:?<>=]*[A-Za-z]")


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def plain(data: bytes) -> str:
    """The drawn text without control sequences."""
    return _CONTROLS.sub(b"", data).decode(errors="replace")


@dataclass(frozen=True)
class Served:
    """A running server."""

    address: str
    """The URL it printed, with the token."""
    process: asyncio.subprocess.Process

    @property
    def base(self) -> str:
        """The URL without its token."""
        return self.address.partition("?")[0]

    def screens(self) -> list[psutil.Process]:
        """Processes of open pages."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [each for each in children if "tui_app" in each.cmdline()]

    async def end(self) -> int:
        """Interrupt the server; returns its exit code."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        return await self.process.wait()


@asynccontextmanager
async def serving(folder: Path, *arguments: str) -> AsyncIterator[Served]:
    """Start the server on a free port and wait until it listens."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tui_app", "serve", str(folder), "--port", str(free_port()), *arguments,
        stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().strip()
        assert address.startswith("http://127.0.0.1:"), address
        yield Served(address, process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.communicate()


# The text of the page's terminal, read from xterm.js's own buffer.


# The page has no reference to its terminal that a test could use. xterm's public class sets ``_core``, which
# is intercepted here, so that the tested page is exactly the one served.
_KEEP = """
Object.defineProperty(Object.prototype, "_core", {
  configurable: true,
  set(core) {
    Object.defineProperty(this, "_core", { value: core, writable: true, configurable: true });
    if (typeof this.loadAddon === "function") window.shownTerminal = this;
  },
});
"""
_ROWS = """(() => {
  const buffer = window.shownTerminal?.buffer.active;
  if (!buffer) return [];
  const rows = Array.from({ length: window.shownTerminal.rows }, (_, row) => buffer.getLine(row));
  return rows.map(line => line?.translateToString(true) ?? "");
})()"""


async def watch(page: Page) -> None:
    """Record the terminal of every page opened from now on."""
    await page.call("Page.addScriptToEvaluateOnNewDocument", source=_KEEP)


async def rows(page: Page) -> list[str]:
    """The visible lines of the terminal."""
    return list(await page.evaluate(_ROWS))


async def says(page: Page, *words: str) -> str:
    """Wait until the terminal contains all of these; returns its text."""
    for each in words:
        await page.until(f"{_ROWS}.join('\\n').includes({each!r})")
    return "\n".join(await rows(page))


async def pixels(page: Page, first: float, last: float) -> bytes:
    """A horizontal band of the page as PNG, in shares of its height; equal pixels give equal bytes."""
    width, height = await page.evaluate("[innerWidth, innerHeight]")
    clip = {"x": 0, "y": height * first, "width": width, "height": height * (last - first), "scale": 1}
    return await page.screenshot(clip)
