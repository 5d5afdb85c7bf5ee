"""The walk against llama.cpp, which refuses prompts that are too long."""

from dataclasses import replace

import pytest

from tests.conversation.driving import Desk
from tests.protocols.walk import ASKS, COMMAND, NEW, NOTES, OLD, Sizes, walk
from tests.servers.llamacpp import LlamaServers
from tests.servers.proxy import Proxy
from tests.servers.scripted_gguf import Call, Calls, Script
from tui_app.conversation.assembly import open_session
from tui_app.settings import Endpoint

SCRIPT: Script = {
    ASKS: [NOTES],
    "[read]": [Calls((Call("read_file", {"path": "tide.txt"}),), "I will look."), "It is a tide table."],
    "[edit]": [
        Calls((Call("edit_file", {"path": "tide.txt", "old_text": OLD, "new_text": NEW}),)),
        "Low water is at seven now.",
    ],
    "[run]": [Calls((Call("run_command", {"command": COMMAND}),)), "Those are its lines."],
    "[full]": ["They are the same."],
    "[on]": ["We put the tide table right."],
    "": ["A small answer."],
}
N_CTX = 14_336
SIZES = Sizes(file=30, prompt=80)

pytestmark = pytest.mark.llamacpp


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("protocol", "path"), [("openai-chat", "/v1"), ("anthropic", "")])
async def test_walk(desk: Desk, llamacpp_server: LlamaServers, protocol: str, path: str) -> None:
    address = llamacpp_server(SCRIPT, N_CTX).removesuffix("/v1")
    with Proxy(address) as proxy:
        # A larger window than the server's is configured, so that the server has to refuse.
        desk.endpoints["local"] = Endpoint(
            name="local", protocol=protocol, base_url=proxy.address + path, window=200_000
        )
        opened = open_session(replace(desk.opening(read_only=False), attended=True))
        try:
            await opened.prepare()
            await walk(desk, opened, proxy, SIZES, alternating=protocol == "anthropic")
        finally:
            await opened.close()
