"""A small MCP server over pipes: ``python mcp_stdio.py MODE``. Standard library only."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ECHO: dict[str, Any] = {
    "name": "echo",
    "description": "Says it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True},
}


def tool(name: str, description: str = "A tool.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}}


TOOLS = [ECHO, *map(tool, ("die", "hang", "fail", "long", "env", "file", "grow", "progress", "ask"))]
MALFORMED = [
    {"name": "schemaless", "description": "Has no schema."},
    {"name": "listed", "inputSchema": {"type": "array", "items": {}}},
    {"name": "textual", "inputSchema": {"type": "object", "properties": {"x": {"type": "banana"}}}},
    {"name": "adrift", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}}},
    {"inputSchema": {"type": "object"}},
]
SHAPED = {
    **tool("file"),
    "outputSchema": {"type": "object", "properties": {"r": {"type": "string", "pattern": "^(a|aa)+$"}}},
}
"""A tool whose output schema takes for ever to check and matches none of our results."""
EVIL = [tool("bad name!", "\x1b[31m[b]red[/b]"), tool("bad_name_"), tool("x" * 80), tool("echo")]


def answer(message: dict[str, Any], mode: str) -> dict[str, Any] | None:
    """The result of a request; None for an unknown method."""
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "test", "version": "1"}
            version = "2099-01-01" if mode == "future" else version
            if mode == "slow":
                time.sleep(6)
            if mode in ("rich", "toolless"):
                told = {"instructions": "Boats are named before they are counted."}
                able: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
                if mode == "toolless":
                    del able["tools"]
                return {"protocolVersion": version, "capabilities": able, "serverInfo": info, **told}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list" if mode != "toolless":
            return {
                "tools": {"evil": EVIL, "shaped": [SHAPED], "malformed": [*MALFORMED, *TOOLS]}.get(
                    mode, TOOLS
                )
            }
        case "tools/call":
            params = message["params"]
            if params["name"] == "progress":
                work(params.get("_meta", {}).get("progressToken"))
            args = params.get("arguments") or {}
            return args["result"] if "result" in args else call(params["name"], args)
        case "ping":
            return {}
        case _:
            return other(message)


def other(message: dict[str, Any]) -> dict[str, Any] | None:
    """The results of requests other than tool calls."""
    match message["method"]:
        case "resources/list":
            return {
                "resources": [{"uri": f"notes://{name}", "name": name} for name in ("log", "chart", "big")]
            }
        case "resources/read":
            return {"contents": [content(message["params"]["uri"])]}
        case "prompts/list":
            words = [{"name": "boat", "required": True}, {"name": "tone"}]
            return {"prompts": [{"name": "hail", "description": "Hails a boat.", "arguments": words}]}
        case "prompts/get":
            words = message["params"]["arguments"]
            text = f"Hail {words['boat']}, {words.get('tone', 'calmly')}."
            return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        case _:
            return None


def call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "echo":
            return said(str(args["text"]))
        case "die":
            os._exit(3)
        case "hang":
            time.sleep(3600)
        case "long":
            return said("line\n" * 100_000)
        case "env":
            return said(json.dumps(dict(os.environ)))
        case "fail":
            return {**said(args.get("text", "It went wrong.")), "isError": True}
        case "ask":
            return said(json.dumps(ask(args)))
        case "grow":
            TOOLS.append(tool("grown"))
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)
        case "file" if "texts" in args:
            blocks = [{"type": "text", "text": text} for text in args["texts"]]
            return {"content": blocks, **{name: args[name] for name in args if name == "structuredContent"}}
    return said(name)


PICTURE = "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAA"


def content(uri: str) -> dict[str, Any]:
    """The content of a resource."""
    match uri:
        case "notes://chart":
            return {"uri": uri, "blob": PICTURE, "mimeType": "image/png"}
        case "notes://big":
            return {"uri": uri, "text": "deep " * 40_000}
        case _:
            return {"uri": uri, "text": "Fog until nine."}


def ask(args: dict[str, Any]) -> Any:
    """Send an elicitation request and wait for the answer."""
    schema = {
        "type": "object",
        "properties": {
            "boat": {"type": "string", "title": "Boat"},
            "berths": {"type": "integer"},
            "sail": {"type": "string", "enum": ["jib", "main"]},
            "sure": {"type": "boolean"},
        },
        "required": ["boat"],
    }
    schema = args.get("schema", schema)
    params = {"message": args.get("text", "Which boat?"), "requestedSchema": schema}
    request = {"jsonrpc": "2.0", "id": "question", "method": "elicitation/create", "params": params}
    print(json.dumps(request), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "question":
            return message.get("result", message.get("error"))
    return None


def work(token: object) -> None:
    """Take longer than the timeout of a call, and send progress meanwhile."""
    for step in range(1, 7):
        time.sleep(0.5)
        params = {"progressToken": token, "progress": step, "total": 6, "message": f"step {step}"}
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        print(json.dumps(note), flush=True)


def said(text: str) -> dict[str, Any]:
    """A tool result with one text."""
    return {"content": [{"type": "text", "text": text}]}


def reply(message: dict[str, Any], mode: str) -> dict[str, Any]:
    """The complete response to a request."""
    result = answer(message, mode)
    if result is None:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def main(mode: str, pids: str = "") -> None:
    """Serve until stdin is closed."""
    if pids:
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)"])
        Path(pids).write_text(f"{os.getpid()} {child.pid}")
    match mode:
        case "crash":
            print("No harbour at 127.0.0.1.", file=sys.stderr)
            sys.exit(7)
        case "hang":
            time.sleep(3600)
    for line in sys.stdin:
        message = json.loads(line)
        if mode == "garbage":
            print("\x1b[2J this is no message", flush=True)
        if mode == "only-garbage":
            print("no message at all", flush=True)
        elif "id" in message:
            print(json.dumps(reply(message, mode)).replace("HALF", "\\ud83d"), flush=True)
    if mode == "stays":
        time.sleep(3600)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["plain"]))
