"""Which variables are secret, where they are not passed, and what no text contains."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import CutStream, ReasoningOnly, Text, Tool, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.tools.commands import ProcessRunner
from tui_app.api_keys import ApiKeys
from tui_app.events import AssistantDelta, Error, ToolOutput, ToolResult
from tui_app.paths import Paths
from tui_app.settings.tables import McpServer
from tui_app.system.environment import Secrets, for_programs, is_secret, keys_in, without_keys
from tui_app.system.program_log import logging_to

KEY = "sk-fake-0123456789"
MIXED = "Zk3v9QpXr7LmT2wYb8NcHd5s"
HARMLESS = {
    "PATH": "/nix/store/7xk9q0a8z7w6v5u4t3s2r1p0o9n8m7l6-bash-5.2/bin:/bin",
    "HOME": "/h",
    "PWD": "/a",
    "OLDPWD": "/b",
    "KEYBOARD": "de",
    "EMPTY": "",
    "COMPASS": "north",
    "MAX_TOKENS": "4096",
    "SSH_AUTH_SOCK": "/tmp/ssh-XXa8Kd9f0/agent.1234",
    "TOKENIZERS_PARALLELISM": "true",
    "BYPASS_PROXY": "1",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus,guid=0123456789abcdef0123456789abcdef",
    "GITHUB_SHA": "a8f5f167f44f4964e6c998dee827110ca8f5f167",
    "LS_COLORS": "rs=0:di=01;34:ln=01;36:*.tar=01;31",
    "TERM_SESSION_ID": "w0t0p0:5C7E1A2B-1234-4F6A-9C0D-1234567890AB",
    "PIP_INDEX_URL": "https://pypi.org/simple",
    "JAVA_HOME": "/usr/lib/jvm/java-17-openjdk-amd64",
    "BUILD": "MyProject-Release-2024-11-02-build-1234",
    "KITTY_PUBLIC_KEY": "1:abcdefgh",
    "npm_config_user_agent": "npm/10.2.4 node/v20.11.0 linux x64",
}
SECRET = {
    "OPENAI_API_KEY": KEY,
    "GOOGLE_API_KEY": "",
    "HF_TOKEN": "hf-0123456789",
    "db_password": "hunter2!",
    "apiKey": "abc",
    "MY_SECRET": "hidden-one",
    "DBPASSWORD": "tidewater",
    "MYSQL_PWD": "tide",
    "STRIPE_KEY_LIVE": "abc",
    "GITHUB_TOKEN_PROD": "abc",
    "OPENAI_KEY_2": "second-0123456789",
    "GH_PAT": "pat-0123",
    "SERVICE_CREDENTIALS": "{}",
    "HARBOUR": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "LIGHT": MIXED,
    "BUOY": f"left={MIXED};right=2",
    "CHAT": f"https://hooks.example.org/services/T0AB12CD3/{MIXED}",
    "BEACON": f"Bearer {MIXED}",
    "DATABASE_URL": "postgres://pilot:p4ssw0rd-of-it@harbour/ferries",
    "SESSION_COOKIE": "a1b2c3d4e5f6g7",
    "RSA": f"-----BEGIN RSA PRIVATE KEY-----\n{MIXED}\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_secret(name: str) -> None:
    assert not is_secret(name, HARMLESS[name])


@pytest.mark.parametrize("name", SECRET)
def test_what_is_one(name: str) -> None:
    assert is_secret(name, SECRET[name])


def test_an_environment_without_keys() -> None:
    copies = {"harbour": "named-in-settings", "COPY_OF_IT": KEY, "WRAPPED": f"it is {KEY}!"}
    assert without_keys({**HARMLESS, **SECRET, **copies}, ["harbour"]) == HARMLESS
    let = without_keys({**HARMLESS, **SECRET}, let=["GH_PAT", "NOT_THERE"])
    assert let == {**HARMLESS, "GH_PAT": "pat-0123"}


NEEDED = {
    "PATH": "/bin",
    "HOME": "/h",
    "LC_TIME": "de_DE.UTF-8",
    "TERM": "xterm",
    "VIRTUAL_ENV": "/v",
    "https_proxy": "http://p",
    "NO_PROXY": "localhost",
    "REQUESTS_CA_BUNDLE": "/ca",
    "GOPATH": "/go",
    "CARGO_HOME": "/c",
    "SSH_AUTH_SOCK": "/s",
    "XDG_CACHE_HOME": "/x",
    "GIT_AUTHOR_NAME": "a",
    "CMAKE_PREFIX_PATH": "/m",
    "npm_config_cache": "/n",
    "CC": "clang",
}
NOT_NEEDED = {
    "BW_SESSION": "open sesame",
    "OP_SESSION_my": "open",
    "VAULT_ADDR": "http://v",
    "KRB5CCNAME": "/tmp/krb5",
    "PGHOST": "db",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus",
    "XAUTHORITY": "/x",
    "SLACK_HOOK": "T0/B0",
    "AWS_PROFILE": "prod",
    "KeePassPhrase": "left",
    "GNUPGHOME": "/g",
    "WINDOWID": "7",
    "DEPLOY_TO": "harbour",
    "STEAM": "1",
    "PATHS": "/",
}


def test_programs_get_what_they_need_and_what_the_settings_name() -> None:
    env = {
        **NEEDED,
        **NOT_NEEDED,
        "NPM_TOKEN": "npm_0123456789",
        "PIP_INDEX_URL": "https://a:hidden-pass@pypi.example/",
    }
    assert for_programs(env) == NEEDED
    passed = for_programs(env, passed=["BW_SESSION", "OP_*", "NPM_TOKEN", "NOT_THERE", ""])
    assert passed.keys() - NEEDED.keys() == {"BW_SESSION", "OP_SESSION_my", "NPM_TOKEN"}
    assert for_programs({"CC": "named-in-settings"}, named=["CC"]) == {}


def test_what_texts_do_not_carry() -> None:
    env = {
        **SECRET,
        "harbour": "named-in-settings",
        "THE_SECRET": "production",
        "KEY_FILE": "/home/pilot/key.json",
    }
    found = keys_in({**HARMLESS, **env}, ["harbour", ""], "postgresql://u:s%40lt-water@db/x")
    assert {
        KEY,
        "named-in-settings",
        "p4ssw0rd-of-it",
        "s@lt-water",
        "s%40lt-water",
        MIXED,
        "hunter2!",
    } <= found
    assert not {"production", "/home/pilot/key.json", "tidewater", "abc"} & found


@pytest.fixture
def secrets(plimsoll_home: Path) -> Secrets:
    keys = ApiKeys({}, Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}))
    return Secrets(frozenset({KEY, "sk-fake-other-one"}), keys)


async def test_a_command_shows_no_key_not_even_in_two_halves(tmp_path: Path, secrets: Secrets) -> None:
    program = (
        "import array, fcntl, termios\nunread = array.array('i', [0])\n"
        "for part in ('it is sk-fa', 'ke-0123', '456789, says sk-fake-', 'nobody'):\n"
        "    print(part, end='', flush=True); unread[0] = 1\n"
        "    while unread[0]: fcntl.ioctl(1, termios.FIONREAD, unread)\n"
    )
    shown: list[str] = []
    runner = ProcessRunner(tmp_path, {}, secrets)
    ended = await runner.run((sys.executable, "-c", program), 30, shown.append)
    assert ended.text == "".join(shown) == "it is [secret removed], says sk-fake-nobody"
    assert len(shown) > 1, "it is shown while it comes"


async def test_results_carry_no_secret_to_log_screen_or_provider(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.env.update(OPENAI_API_KEY=KEY, HARBOUR_PASSWORD="deep-w4ter", PATH=os.environ["PATH"])
    (desk.cwd / "notes.txt").write_text(f"{KEY} deep-w4ter\n")
    (desk.cwd / f"{KEY}.txt").touch()
    desk.server("local", fake_openai.base_url)
    calls = (
        ("read_file", {"path": "notes.txt"}),
        ("grep", {"pattern": "deep"}),
        ("ls", {}),
        ("run_command", {"command": "cat notes.txt"}),
        ("run_command", {"command": "env"}),
    )
    fake_openai.add(Tool(calls), tool("read_file", path="no-such-sk-fake"), Text("So."))
    async with desk.session(read_only=False, approvals={"allow": ("run_command",)}) as opened:
        records = await turn(opened.conversation, "Look.")
        kept = "".join(str(record.data) for record, _ in opened.store.records(opened.conversation.session))
    results = [each for each in of(records, ToolResult) if isinstance(each, ToolResult)]
    assert sorted(each.text.count("[secret removed]") for each in results) == [0, 0, 1, 2, 2, 2]
    assert not of(records, ToolOutput) or KEY not in str(of(records, ToolOutput))
    for secret in (KEY, "deep-w4ter"):
        assert secret not in kept + str(fake_openai.journal)
    assert "HARBOUR" not in "".join(each.text for each in results)


@pytest.mark.parametrize("thinks", [False, True])
async def test_an_answer_carries_no_secret_to_log_screen_or_provider(
    desk: Desk, fake_openai: FakeOpenAI, thinks: bool
) -> None:
    desk.env.update(OPENAI_API_KEY=KEY, PATH=os.environ["PATH"])
    desk.server("local", fake_openai.base_url)
    said = f"It is {KEY}, not sk-fake-01234."
    first = ReasoningOnly(said, finish_reason="stop") if thinks else Text(said, chunks=17)
    both = Tool((("run_command", {"command": f"echo {KEY}"}),), text=f"Sent as {KEY}")
    fake_openai.add(first, both, Text("Done sk-fake-"))
    async with desk.session(read_only=False, sandbox="off", approvals={"allow": ("run_command",)}) as opened:
        shown = await turn(opened.conversation, "What is the key?")
        if not thinks:
            deltas = [each.text for each in of(shown, AssistantDelta) if isinstance(each, AssistantDelta)]
            assert "".join(deltas) == "It is [secret removed], not sk-fake-01234."
            assert len(deltas) > 3, "it is shown while it comes"
        shown += await turn(opened.conversation, "And now?")
        kept = "".join(str(record.data) for record, _ in opened.store.records(opened.conversation.session))
        database = opened.store.path.read_bytes()
    ends = [each.text for each in of(shown, AssistantDelta) if isinstance(each, AssistantDelta)]
    assert "".join(ends).endswith("Done sk-fake-"), "what only begins like one is whole in the end"
    for where in (kept, str([record.data for record in shown]), str(fake_openai.journal)):
        assert KEY not in where
    assert KEY.encode() not in database


async def test_an_error_that_repeats_a_key_keeps_none(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.env.update(OPENAI_API_KEY="deep-w4ter-pass")
    desk.server("local", fake_openai.base_url)
    fake_openai.add(error(400, "Nobody has the key deep-w4ter-pass here."))
    async with desk.session() as opened:
        shown = [record.data for record in await turn(opened.conversation, "Who are you?")]
        database = opened.store.path.read_bytes()
    [told] = [each for each in shown if isinstance(each, Error)]
    assert "the key [secret removed] here" in told.message
    assert "deep-w4ter-pass" not in str(shown)
    assert b"deep-w4ter-pass" not in database


async def test_the_log_of_the_program_keeps_no_key_whatever_it_looks_like(desk: Desk, tmp_path: Path) -> None:
    desk.env.update(OPENAI_API_KEY="deep-w4ter-pass")
    with logging_to(tmp_path / "plimsoll.log", "test"):
        async with desk.session():
            try:
                raise ValueError("what a library says of deep-w4ter-pass")
            except ValueError:
                logging.getLogger("library").exception("it failed with %s", "deep-w4ter-pass")
    text = (tmp_path / "plimsoll.log").read_text()
    assert "deep-w4ter-pass" not in text
    assert "it failed with [secret removed]" in text


async def test_an_answer_that_breaks_off_in_a_secret_keeps_none(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.env.update(OPENAI_API_KEY=KEY)
    desk.server("local", fake_openai.base_url)
    fake_openai.add(CutStream(f"So {KEY} and {KEY}"))
    async with desk.session() as opened:
        shown = await turn(opened.conversation, "What is the key?")
    assert "[secret removed]" in str([record.data for record in shown])
    assert KEY not in str([record.data for record in shown])


async def test_results_carry_nothing_that_servers_of_tools_are_given(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url)
    desk.env["HARBOUR_HEADER"] = "Bearer deep-w4ter-pass"
    signed = {"access_token": "tide-acc3ss", "token_type": "Bearer", "client_secret": "cl1ent-secret"}
    (desk.cwd / "notes.txt").write_text(
        "deep-w4ter-pass tide-acc3ss cl1ent-secret env-g1ven-token edit0r-token client_secret_post production"
    )
    web = McpServer(
        name="web", url="http://127.0.0.1:9/", enabled=False, headers_env={"Authorization": "HARBOUR_HEADER"},
        given_headers={"Authorization": "Bearer edit0r-token"},
    )  # fmt: skip
    own = McpServer(
        name="own",
        command="own",
        enabled=False,
        env={"API_TOKEN": "env-g1ven-token", "NODE_ENV": "production"},
    )
    fake_openai.add(tool("read_file", path="notes.txt"), Text("So."))
    async with desk.session(mcp={"web": web, "own": own}) as opened:
        assert opened.extras.servers.tokens is not None
        opened.extras.servers.tokens.keep("url", {"tokens": {**signed, "auth_method": "client_secret_post"}})
        (read,) = of(await turn(opened.conversation, "Look."), ToolResult)
    assert isinstance(read, ToolResult)
    said = read.text.partition("\t")[2].strip()
    assert said == " ".join(["[secret removed]"] * 5 + ["client_secret_post production"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of a process")
def test_nobody_reads_a_key_in_the_environment_of_a_process() -> None:
    child = "import os; print(open(f'/proc/{os.getppid()}/environ', 'rb').read())"
    program = (
        "import os, subprocess, sys, ctypes\nfrom tui_app.system.environment import hide_environment\n"
        "hide_environment({'HARBOUR_KEY'})\n"
        "getenv = ctypes.CDLL(None).getenv; getenv.restype = ctypes.c_char_p\n"
        "assert getenv(b'HARBOUR_KEY').decode() == os.environ['HARBOUR_KEY'] == 'deep-w4ter'\n"
        "assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0\n"
        f"command = [sys.executable, '-c', {child!r}]\n"
        "print(subprocess.run(command, capture_output=True, text=True, env={}))\n"
    )
    env, command = {**os.environ, "HARBOUR_KEY": "deep-w4ter", "OTHER": "stays"}, [sys.executable, "-c"]
    done = subprocess.run([*command, program], env=env, capture_output=True, text=True, check=True)
    assert "deep-w4ter" not in done.stdout
    assert "OTHER=stays" in done.stdout or "PermissionError" in done.stdout
