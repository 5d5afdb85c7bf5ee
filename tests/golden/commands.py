"""One scripted session through all commands that need no screen: their output and exit codes."""

import asyncio
import hashlib
import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tests.conversation.driving import Desk, done
from tests.conversation.jobs import prompt_number
from tests.golden.pinned import World, pinned_world
from tui_app.cli.program import COMMANDS
from tui_app.context.policy import PRESETS
from tui_app.conversation.work import Rewind
from tui_app.version import __version__

_LONGEST, _LONGEST_LINE = 20_000, 600
"""Maximum characters of an output, and of a line in a longer output before it is replaced by a checksum."""
_OF_THE_MACHINE = ("plimsoll", "python", "packages", "terminal", "encoding", "tmux", "servers")
"""Parts of the doctor's output that depend on the machine."""
_FILES = {
    "README.md": "# Ferry timetable\n\nThis project prints the harbour ferry timetable.\n",
    "tides.txt": "Low water on Sunday is at 09:40.\nHigh water is at 15:50.\n",
    "notes.md": "Harbour notes\n\n- The pilot boards at low water.\n- The ferry waits for high water.\n",
    "summary.md": "## Intent\n- Look at all routes; never touch the legacy importer.\n",
    "../data/words.txt": "nothing that anybody could import\n",
}
_POLICIES = "\n".join(
    f"""import ../data/chat.json --again --json
run "when is low water?" --session {{last}} --window 7000 --policy {name} --json
context {{last}} --window 7000 --json
sessions delete {{last}} --yes"""
    for name in PRESETS
)
SCRIPT = f"""
--version
sesions
nowhere
run
run " "
run words --window ten
run words --model nonsense
run words --session ffff
compact ffff
sessions
sessions --json
stats
memory --json
keys
keys list --json
config path
config path --json
config show --json
config set window 5
config set window 48000
config set nonsense 1
config show
config unset window
config unset window --json
config set memory_limit_mb 0
config set endpoints.pier.base_url http://127.0.0.1:9/v1
config set endpoints.pier.window 16000
models --json
doctor
doctor --json
run "when is low water?" --json
run "what does the pilot do?" --session {{0}}
run "@tides.txt when is high water?" --session {{0}} --read-only --json
run - --session {{0}} --allow "run_command ls" --json < "who waits for the ferry?"
run "list files"
sessions
sessions list --json
sessions show {{0}}
sessions show {{0}} --json
sessions search high water
sessions search "high water" --json
sessions search zeppelin --json
sessions rename {{0}} Tide notes
sessions rename {{0}} "" --json
sessions rename {{0}} "Tide times" --json
sessions fork {{0}} --at 2
sessions fork {{0}} --at 16 --json
sessions fork {{0}} --json
stats {{0}}
stats {{0}} --json
export {{0}}
export {{0}} --format openai
export {{0}} --format markdown
export {{0}} --format html
export {{0}} --format jsonl
export {{0}} --format jsonl -o tides.jsonl
export {{0}} --format jsonl -o tides.jsonl
export {{0}} --format jsonl -o tides.jsonl --force
import
import --list --json
import ../data/words.txt --json
import tides.jsonl
import ../data/chat.json --json
import ../data/chat.json
sessions show {{5}}
context {{5}}
context {{5}} --json
context {{5}} --window 8000 --json
context {{5}} --pin 3 --archive 6 --offload 11 --json
context {{5}} --unpin 4
context {{5}} --unpin 3 --restore 11
context {{5}} --archive 2
export {{5}} --view agent --format markdown
compact {{5}} --window 9000 --dry-run
compact {{5}} --window 9000 --dry-run --json
compact {{5}} --undo
compact {{5}} --window 9000 --json
compact {{5}} --window 9000
export {{5}} --view agent --format openai
compact {{5}} --undo --json
compact {{5}} --redo --json
compact {{5}} --undo
compact {{5}} --redo
compact {{5}} --edit-summary summary.md --json
export {{5}} --view agent --format jsonl
compact {{5}} --undo --json
compact {{5}} --up-to 41 --focus "the stops of route 2" --policy reserve --json
compact {{5}} --from 42 --dry-run --json
stats {{5}}
stats --json
sessions show {{5}} --json
{_POLICIES}
simulate ../data/chat.json --window 4000 --model offline:extractive
simulate ../data/chat.json --window 6000 --policy plimsoll progressive --model offline:extractive --json
simulate {{0}} ../data/words.txt --window 4000 --policy plimsoll off --verbose
simulate ../data/chat.json --window 4000 --policy all --model offline:extractive --plot ferry.svg
memory add The tests need Redis --kind command --json
memory add "the tests need redis"
memory add "Never push on Friday" --kind rule --everywhere
memory edit 1 The tests need Redis 7
memory list --json
memory
memory forget 3
memory forget 3 --yes --json
memory list --pruned --all
memory run {{5}} --json
memory run
run "what is remembered?" --json
schema --list
schema tool.call
schema tool.cal
sessions backup copy.db --json
sessions backup copy.db
sessions delete {{0}}
sessions delete {{0}} --yes --json
sessions delete {{0}} --yes
sessions prune --dry-run --json
sessions prune
config set retention.sessions 2
config set retention.max_sessions 3
sessions prune --dry-run
sessions prune --yes --json
sessions list --json
doctor --json
"""


WRITING = """
run "when is low water?"
run "what does the pilot do?" --session {0}
run "who waits for the ferry?" --session {0}
sessions rename {0} Tide times
import ../data/chat.json
sessions rename {1} Compacted
context {1} --pin 3 --archive 6 --offload 11
compact {1} --window 9000 --focus "the stops of route 2"
run "when is high water?" --session {1}
import ../data/chat.json --again
sessions rename {2} Undone
compact {2} --window 9000
compact {2} --edit-summary summary.md
compact {2} --undo
sessions fork {0}
memory add "Never push on Friday" --kind rule
memory add "The tests need Redis" --kind command
memory forget 2 --yes
memory run {1}
"""
"""Commands that write the sessions file later versions must open; a rewind follows."""
REWOUND = "who waits for the ferry?"
"""The prompt of the first session that is rewound."""


def played_commands() -> str:
    """Play the script and return all output."""
    with pinned_world() as world:
        write_files(world)
        return "\n".join(_played(world, SCRIPT))


def sessions_file() -> bytes:
    """The bytes of a sessions file with calls, compactions and every other change to a session."""
    with pinned_world() as world:
        write_files(world)
        for _ in _played(world, WRITING):
            pass
        asyncio.run(_rewind(world))
        code, _, err = world.run("sessions", "backup", "../copy.db")
        assert code == 0, err
        return (world.project / "../copy.db").read_bytes()


async def _rewind(world: World) -> None:
    """Rewind the last prompt of the first session, which no command can do."""
    session = world.made[0]
    async with Desk(world.home, world.project).session(session=session, model="") as opened:
        conversation = opened.conversation
        await done(conversation, Rewind(prompt_number(conversation, REWOUND)))


def write_files(world: World) -> None:
    """Write the files that the commands use."""
    for name, text in {**_FILES, "../data/chat.json": json.dumps(chat())}.items():
        world.write(name, text)


def _played(world: World, script: str) -> Iterator[str]:
    for line in script.strip().splitlines():
        words = shlex.split(line)
        words, stdin = (words[:-2], words[-1]) if "<" in words[-2:-1] else (words, "")
        args = [word.format(*world.made, last=world.made[-1] if world.made else "") for word in words]
        code, out, err = world.run(*args, stdin=stdin)
        yield f"$ plimsoll {shlex.join(args)}"
        yield from _shown(args, out).splitlines()
        yield from (f"stderr: {said}" for said in err.replace(__version__, "<version>").splitlines())
        yield f"exit: {code}\n"


def _shown(args: list[str], out: str) -> str:
    """The output as stored: one-line JSON is indented, so that diffs are readable."""
    if args[0] == "doctor" and "--json" not in args:
        out = "\n".join(line for line in out.splitlines() if not set(_OF_THE_MACHINE) & set(line.split()[:2]))
    if "--json" in args and out.count("\n") == 1:
        with suppress(ValueError):
            out = json.dumps(_stable(args[0], json.loads(out)), indent=1)
    elif len(out) > _LONGEST:
        out = "\n".join(map(_short, out.splitlines()))
    return out.replace(__version__, "<version>")


def _short(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"<{len(line)} characters, {hashlib.sha256(line.encode()).hexdigest()[:16]}> {line[:60]} …"


def _stable(command: str, printed: Any) -> Any:
    """The text without output of other programs and prices from a library's list."""
    match command, printed:
        case "models", {"models": [*models]}:
            local = [model for model in models if model["local"]]
            return {"models": [*local, sorted({key for model in models for key in model})]}
        case "doctor", {"checks": [*checks]}:
            stable = [check for check in checks if check["name"] not in _OF_THE_MACHINE]
            return {"names": [check["name"] for check in checks], "checks": stable}
        case _:
            return printed


def chat() -> list[dict[str, Any]]:
    """A conversation in OpenAI's chat format with tool calls, long enough to be compacted."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help with ferries."}]
    for number in range(12):
        call = {"id": f"call_{number}", "type": "function"}
        call["function"] = {"name": "read_file", "arguments": json.dumps({"path": f"route{number}.py"})}
        stops = " ".join(f"stop{number}x{index}" for index in range(120))
        messages += [
            {"role": "user", "content": f"Look at route {number}. Never touch the legacy importer."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": stops},
            {"role": "assistant", "content": f"Route {number} calls at all its stops."},
        ]
    return messages


def help_texts() -> str:
    """The help of the program and of each command."""
    texts = []
    with pinned_world() as world:
        for words in ((), *((name,) for name in COMMANDS)):
            code, out, err = world.run(*words, "--help")
            assert (code, err) == (0, ""), err
            texts.append(f"$ plimsoll {' '.join((*words, '--help'))}\n{out}")
    return "\n".join(texts)


def schema_text() -> str:
    """The output of ``plimsoll schema``."""
    with pinned_world() as world:
        return world.run("schema")[1]
