"""The effects of tool calls, for the tools of every program, from one table."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.ledger.tools import (
    Command,
    FileUse,
    HandleUse,
    Look,
    Operation,
    Question,
    TaskUpdate,
    operations,
)

PATCH = (
    "*** Begin Patch\n*** Add File: n.py\n+x\n*** Update File: src/a.py\n@@\n-a\n+b\n"
    "*** Delete File: old.py\n*** End Patch"
)
PATCHED = ["n.py created", "src/a.py edited", "old.py deleted"]


def told(operation: Operation) -> str:
    match operation:
        case Command(line=line, background=background):
            return f"$ {line}{' &' * background}"
        case FileUse(path=path, verb=verb, to=to):
            return f"{path} {verb} {to}".strip()
        case TaskUpdate(entries=entries, whole=whole):
            tasks = ", ".join(f"{each.id} {each.text} {each.state}".strip() for each in entries)
            return f"{'tasks' if whole else 'task'}: {tasks}"
        case HandleUse(handle=handle, stops=stops):
            return f"{'stop' if stops else 'see'} {handle}"
        case Question(text=text, plan=plan):
            return f"{'plan' if plan else 'ask'}: {text}"
        case Look():
            return "look"


TABLE: list[tuple[str, dict[str, Any], list[str]]] = [
    # Our own.
    ("run_command", {"command": "make", "background": True}, ["$ make &"]),
    ("read_file", {"path": "a.py"}, ["a.py read"]),
    ("write_file", {"path": "a.py", "content": "x"}, ["a.py written"]),
    ("edit_file", {"path": "a.py", "old_text": "a", "new_text": "b"}, ["a.py edited"]),
    ("todo", {"items": [{"text": "reef", "state": "doing"}]}, ["tasks: reef in progress"]),
    ("tasks", {"action": "output", "id": "t1"}, ["see t1"]),
    ("tasks", {"action": "stop", "id": "t1"}, ["stop t1"]),
    ("ask_user", {"question": "Which port?"}, ["ask: Which port?"]),
    ("plan", {"text": "First the pier."}, ["plan: First the pier."]),
    ("search_history", {"query": "x"}, ["look"]),
    # Claude Code.
    ("Bash", {"command": "make", "run_in_background": True}, ["$ make &"]),
    ("BashOutput", {"bash_id": "b1"}, ["see b1"]),
    ("KillShell", {"shell_id": "b1"}, ["stop b1"]),
    ("Read", {"file_path": "/w/a.py"}, ["/w/a.py read"]),
    ("Write", {"file_path": "/w/a.py", "content": "x"}, ["/w/a.py written"]),
    ("Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}, ["/w/a.py edited"]),
    ("MultiEdit", {"file_path": "a.py", "edits": []}, ["a.py edited"]),
    ("NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "b"}, ["n.ipynb edited"]),
    ("TodoWrite", {"todos": [{"content": "a", "status": "pending"}, {"content": "b", "status": "completed"}]},
     ["tasks: a open, b done"]),
    ("TaskCreate", {"subject": "fix the gauge", "description": "d"}, ["task: fix the gauge open"]),
    ("TaskUpdate", {"taskId": "7", "status": "completed"}, ["task: 7  done"]),
    ("TaskStop", {"task_id": "b3"}, ["stop b3"]),
    ("Task", {"description": "look", "prompt": "p"}, ["look"]),
    ("AskUserQuestion", {"questions": [{"question": "How?"}, {"question": "When?"}]}, ["ask: How? When?"]),
    ("ExitPlanMode", {"plan": "First the pier."}, ["plan: First the pier."]),
    ("WebFetch", {"url": "https://a.example"}, ["look"]),
    # Codex, directly and within the JavaScript of its exec.
    ("shell", {"command": ["bash", "-lc", "make check"]}, ["$ make check"]),
    ("shell", {"command": ["ls", "-la"]}, ["$ ls -la"]),
    ("exec_command", {"cmd": "make", "yield_time_ms": 1_000}, ["$ make"]),
    ("write_stdin", {"session_id": 3, "chars": ""}, ["see 3"]),
    ("update_plan", {"plan": [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]},
     ["tasks: a done, b in progress"]),
    ("shell", {"command": ["apply_patch", PATCH]}, PATCHED),
    ("shell_command", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, PATCHED),
    ("apply_patch", {"input": PATCH}, PATCHED),
    ("exec", {"input": 'const r = await tools.exec_command({cmd:"make check"}); text(r.output)'},
     ["$ make check"]),
    ("exec", {"input": "await Promise.all([tools.exec_command({cmd: 'ls', workdir: `/w`}), "
              'tools.exec_command({"cmd": "git status", /* soon */ tty: true, max: 2})])'},
     ["$ ls", "$ git status"]),
    ("exec", {"input": f"text(await tools.apply_patch({PATCH!r}))"}, PATCHED),
    ("exec", {"input": 'const c = "make"; await tools.exec_command({cmd: c})'}, []),
    ("exec", {"input": "await tools.exec_command({cmd: `make ${target}`})"}, []),
    ("exec", {"input": 'await tools.exec_command({cmd: "make " + target})'}, []),
    ("exec", {"input": 'await tools.exec_command({cmd: "make'}, []),
    ("exec", {"input": 'tools.exec_command({cmd: "ls"}); tools.deploy({to: "prod"})'}, []),
    # SWE-agent and OpenHands, with their notebooks.
    ("str_replace_editor", {"command": "view", "path": "a.py"}, ["a.py read"]),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"}, ["a.py created"]),
    ("str_replace_based_edit_tool", {"command": "undo_edit", "path": "a.py"}, ["a.py edited"]),
    ("execute_bash", {"command": "make", "is_input": "false"}, ["$ make"]),
    ("execute_ipython_cell", {"code": "!make\n%cd src"}, ["$ make", "$ cd src"]),
    ("execute_ipython_cell", {"code": "%%bash\nmake\nls"}, ["$ make\nls"]),
    ("execute_ipython_cell", {"code": "open('a')"}, ['$ python -c "open(\'a\')"']),
    ("task_tracker", {"command": "plan", "task_list": [{"id": "1", "title": "a", "status": "todo"}]},
     ["tasks: 1 a open"]),
    ("think", {"thought": "hm"}, ["look"]),
    ("bash", {"bash_command": "ls"}, ["$ ls"]),
    # opencode, Copilot, Cursor, Gemini, Cline and Windsurf.
    ("edit", {"filePath": "a.py", "oldString": "a", "newString": "b"}, ["a.py edited"]),
    ("patch", {"patchText": PATCH}, PATCHED),
    ("todowrite", {"todos": [{"content": "a", "status": "cancelled", "id": "1"}]}, ["tasks: 1 a dropped"]),
    ("todoread", {}, ["look"]),
    ("run_in_terminal", {"command": "npm test", "isBackground": False}, ["$ npm test"]),
    ("get_terminal_output", {"id": "t1"}, ["see t1"]),
    ("create_file", {"filePath": "/w/a.py", "content": "x"}, ["/w/a.py written"]),
    ("replace_string_in_file", {"filePath": "a.py", "oldString": "a", "newString": "b"}, ["a.py edited"]),
    ("insert_edit_into_file", {"filePath": "a.py", "code": "x"}, ["a.py edited"]),
    ("manage_todo_list", {"todoList": [{"id": 1, "title": "a", "status": "not-started"}]},
     ["tasks: 1 a open"]),
    ("read_bash", {"sessionId": "1"}, ["see 1"]),
    ("run_terminal_cmd", {"command": "make", "is_background": True}, ["$ make &"]),
    ("search_replace", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, ["a.py edited"]),
    ("delete_file", {"target_file": "a.py"}, ["a.py deleted"]),
    ("codebase_search", {"query": "x"}, ["look"]),
    ("run_shell_command", {"command": "ls"}, ["$ ls"]),
    ("write_todos", {"todos": [{"description": "a", "status": "pending"}]}, ["tasks: a open"]),
    ("write_to_file", {"path": "a.py", "content": "x"}, ["a.py written"]),
    ("apply_diff", {"path": "a.py", "diff": "x"}, ["a.py edited"]),
    ("update_todo_list", {"todos": "- [x] a\n- [~] b\n- [ ] c"}, ["tasks: a done, b in progress, c open"]),
    ("ask_followup_question", {"question": "Which?"}, ["ask: Which?"]),
    ("run_command", {"CommandLine": "make", "Cwd": "/w"}, ["$ make"]),
    ("view_file", {"AbsolutePath": "/w/a.py"}, ["/w/a.py read"]),
    # A patch, and other commands on the same line.
    ("shell", {"command": ["bash", "-lc", f"cd /w && apply_patch <<'EOF'\n{PATCH}\nEOF\nnpm test"]},
     [*PATCHED, "$ npm test"]),
    # Several files in one call.
    ("multi_replace", {"replacements": [{"filePath": "a.py"}]}, ["a.py edited"]),
    ("multi_replace_string_in_file", {"replacements": [{"filePath": "a.py", "newString": "x"},
                                                       {"filePath": "b.py", "newString": "y"}]},
     ["a.py edited", "b.py edited"]),
    ("read_many_files", {"include": ["a.py", "b.py"]}, ["a.py read", "b.py read"]),
    ("read_file", {"files": [{"path": "a.py"}, {"path": "b.py"}]}, ["a.py read", "b.py read"]),
    ("remove-files", {"file_paths": ["a.py", "b.py"]}, ["a.py deleted", "b.py deleted"]),
    # Blocks of old and new text.
    ("search_replace", {"file_path": "a.py", "content": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"},
     ["a.py edited"]),
    ("kill-process", {"terminal_id": 3}, ["stop 3"]),
    ("command_status", {"CommandId": "c1"}, ["see c1"]),
    ("LSP", {"operation": "hover", "filePath": "a.py"}, ["look"]),
    # Tools of servers.
    ("mcp__jetbrains__replace_text_in_file", {"pathInProject": "a.py", "newText": "y"}, ["a.py edited"]),
    ("mcp__shell__execute_command", {"command": "make"}, ["$ make"]),
    ("mcp__fs__write_file", {"path": "a.py", "content": "x"}, ["a.py written"]),
    ("mcp__fs__move_file", {"source": "a.py", "destination": "b.py"}, ["a.py moved b.py"]),
    ("mcp__fs__delete_file", {"path": "a.py"}, ["a.py deleted"]),
    ("mcp__fs__list_directory", {"path": "."}, ["look"]),
    # Unknown tools.
    ("mcp__gh__create_issue", {"title": "x"}, []),
    ("mcp__db__query", {"sql": "drop table reef"}, []),
    ("frobnicate", {"x": 1}, []),
    ("deploy", {"env": "prod"}, []),
    ("", {}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "args", "done"), TABLE, ids=lambda value: value if type(value) is str else ""
)
def test_what_a_call_does(tool: str, args: dict[str, Any], done: list[str]) -> None:
    assert [told(each) for each in operations(tool, args)] == done


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"text": "reef", "state": "doing"}, "in progress"),
        ({"text": "reef", "state": "pending"}, "open"),
        ({"text": "reef", "state": "done"}, "done"),
        ({"content": "reef", "status": "IN_PROGRESS"}, "in progress"),
        ({"content": "reef", "status": "Completed"}, "done"),
        ({"title": "reef", "completed": True}, "done"),
        ({"title": "reef", "checked": False}, "open"),
        ({"title": "reef", "status": "skipped"}, "dropped"),
        ({"step": "reef"}, "open"),
    ],
)
def test_each_tool_names_the_state_of_a_task_in_its_own_words(entry: dict[str, object], state: str) -> None:
    [update] = operations("todo", {"items": [entry]})
    assert isinstance(update, TaskUpdate)
    assert [(task.text, task.state) for task in update.entries] == [("reef", state)]


def test_the_size_of_a_change_is_what_was_written() -> None:
    [use] = operations("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "four"})
    assert isinstance(use, FileUse)
    assert use.size == 4


_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_NAMES = ["command", "cmd", "path", "todos", "plan", "code", "input", "patch", "taskId", "id", "source", "to"]


@given(
    st.sampled_from([row[0] for row in TABLE]) | st.text(max_size=20),
    st.dictionaries(st.sampled_from(_NAMES), _VALUE, max_size=4),
)
def test_no_call_is_too_strange(tool: str, args: dict[str, Any]) -> None:
    assert operations(tool, args) == operations(tool, args)


@pytest.mark.parametrize("blank", ["/" * 60, "/**/" * 60, "/*/" * 60, " /" * 60])
def test_no_blank_behind_a_variable_takes_long(blank: str) -> None:
    assert operations("exec", {"input": f"tools.exec_command({{cmd: command {blank}\n}})"}) == ()


@given(st.text("toolsexcmd.(){}[]:\"'`$,/* \\\n\u00e9", max_size=60))
def test_no_script_is_too_strange(code: str) -> None:
    operations("exec", {"input": f"await tools.exec_command({code})"})
