"""A language server over pipes, correct or faulty depending on its mode; standard library only.

``python language_server.py MANNER [FILE]`` appends its process id to the file at each start.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MANNER, *FILES = sys.argv[1:] or [""]
CONTROLS = "\x1b]0;title\x07\x1b[31mred\x1b[0m\nnext\u202eline\x00" + "x" * 5_000


def read() -> Any:
    size = 0
    while (line := sys.stdin.buffer.readline()).strip():
        name, _, value = line.decode().partition(":")
        size = int(value) if name.lower() == "content-length" else size
    return json.loads(sys.stdin.buffer.read(size)) if size else None


def send(**message: Any) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
    sys.stdout.buffer.flush()


def publish(uri: str, text: str, version: int | None) -> None:
    """Publish diagnostics: lines with ``wrong`` are errors, with ``odd`` warnings, with ``hm`` hints."""
    found = []
    for number, line in enumerate(text.split("\n")):
        for severity, word in ((1, "wrong"), (2, "odd"), (4, "hm")):
            if word in line:
                place = {"line": number, "character": line.index(word)}
                message = CONTROLS if MANNER == "controls" else f"{line} is {word}"
                found.append(
                    {
                        "range": {"start": place, "end": place},
                        "severity": severity,
                        "source": "made up",
                        "code": word,
                        "message": message,
                    }
                )
    params = {"uri": uri, "diagnostics": found} | ({} if version is None else {"version": version})
    send(method="textDocument/publishDiagnostics", params=params)


def confuse(id: Any) -> None:
    """Send messages that the client did not request before the response that it did."""
    send(method="$/cancelRequest", params={"id": id})
    send(id="nobody", result={})
    send(id=[1], result={})
    send(id=17, error={"code": -1, "message": "no"})
    send(method="exit")
    send(id=1, method="shutdown", params=None)
    send(id=2, method="initialize", params={"capabilities": {}})
    send(id=3, method="workspace/executeCommand", params={"command": "touch"})
    send(method="textDocument/publishDiagnostics", params={"uri": 7, "diagnostics": "many"})
    send(method="textDocument/publishDiagnostics", params={"uri": "file:///etc/passwd", "diagnostics": []})
    send(method="unheard/of", params={"deep": {"type_name": "1 2"}})
    sys.stdout.buffer.write(b"Content-Length: 3\r\n\r\n{]}")
    sys.stdout.buffer.flush()


def begin(id: Any) -> None:
    """Respond to the first request (``initialize``)."""
    if MANNER == "huge":
        sys.stdout.buffer.write(b"Content-Length: 100000000\r\n\r\n" + b" " * 1_000_000)
        sys.stdout.buffer.flush()
    if MANNER == "garbage":
        print("Starting up ...\n" * 1_000, flush=True)
    if MANNER == "confused":
        confuse(id)
    if MANNER == "refuses":
        send(id=id, error={"code": -32603, "message": "no licence\x1b[2J"})
    if MANNER not in ("silent", "huge", "garbage", "refuses"):
        send(id=id, result={"capabilities": {"textDocumentSync": 1}})


def main() -> None:  # noqa: C901 - a case each
    for file in FILES:
        with Path(file).open("a") as pids:
            pids.write(f"{os.getpid()}\n")
    if MANNER == "dies":
        sys.exit("it needs a\x1b[1m library")
    asked = MANNER != "asks"
    waiting: list[Any] = []
    while (message := read()) is not None:
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                begin(message["id"])
            case "initialized" if MANNER == "asks":
                items = {"items": [{"section": "made"}, {"section": "up"}]}
                send(id="c", method="workspace/configuration", params=items)
            case "initialized" if MANNER == "floods":
                while True:
                    send(method="window/logMessage", params={"type": 3, "message": "again"})
            case "textDocument/didOpen" | "textDocument/didChange":
                file = params["textDocument"]
                text = file["text"] if "text" in file else params["contentChanges"][0]["text"]
                if MANNER == "crashes" and "wrong" in text:
                    sys.exit(3)
                waiting.append((file["uri"], text, None if MANNER == "no versions" else file["version"]))
            case "textDocument/didClose":
                publish(params["textDocument"]["uri"], "", None)
            case "shutdown":
                send(id=message["id"], result=None)
            case "exit":
                return
            case None if message.get("id") == "c":
                asked = message.get("result") == [None, None]
        while asked and waiting and MANNER != "mute":
            publish(*waiting.pop(0))
    if MANNER == "stays":
        time.sleep(600)


if __name__ == "__main__":
    main()
