"""Debian's headless Chromium, driven over the DevTools protocol."""

import asyncio
import base64
import json
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

LISTENING = re.compile(rb"DevTools listening on ws://([^/]+)/")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-port=0", "--window-size=1200,800",
)  # fmt: skip
KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "F3": (114, "")}


class Page:
    """One browser page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers = socket, count(1)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its result."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = json.loads((await self._socket.receive()).data)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])

    async def open(self, address: str) -> None:
        """Navigate to a URL and wait for it to load."""
        await self.call("Page.navigate", url=address)

    async def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        result = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return result["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until a JavaScript expression is true; checked once per frame."""
        await self.evaluate(
            f"new Promise(done => {{ const look = () => ({script}) ? done() : requestAnimationFrame(look); "
            "look(); })"
        )

    async def type(self, text: str) -> None:
        """Type a text into the focused element."""
        for sign in text:
            await self.call("Input.dispatchKeyEvent", type="char", text=sign)

    async def press(self, key: str) -> None:
        """Press a key, given by name."""
        code, text = KEYS[key]
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    async def screenshot(self, clip: Mapping[str, float] | None = None) -> bytes:
        """The page as PNG, or the region in ``clip``."""
        part = {"clip": dict(clip)} if clip else {}
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png", **part))["data"])


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Page]:
    """Run the browser with its own profile; fails when it is not installed.

    Args:
        folder: Where the profile is stored; not removed afterwards.
    """
    program = shutil.which("chromium")
    assert program, "Chromium is not installed: apt-get install chromium"
    process = await asyncio.create_subprocess_exec(
        program, *FLAGS, f"--user-data-dir={folder}", "about:blank", stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        while (found := LISTENING.search(await process.stderr.readline())) is None:
            assert process.returncode is None, "Chromium ended at once"
        reading = asyncio.create_task(process.stderr.read())
        host = found[1].decode()
        async with aiohttp.ClientSession() as client:
            async with client.get(f"http://{host}/json/list") as answer:
                targets = await answer.json()
            address = next(each["webSocketDebuggerUrl"] for each in targets if each["type"] == "page")
            async with client.ws_connect(address, max_msg_size=0) as socket:
                yield Page(socket)
        process.terminate()
        await reading
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
