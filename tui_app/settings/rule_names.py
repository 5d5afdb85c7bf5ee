"""Names of tools in rules: which of them can be no tool's, because they are misspelt."""

from collections.abc import Collection
from difflib import get_close_matches
from fnmatch import fnmatchcase

from tui_app.settings.approvals import ApprovalRule

OUR_TOOLS = frozenset(
    {
        "read_file", "ls", "glob", "grep", "search_history", "write_file", "edit_file", "run_command",
        "web_fetch", "todo", "plan", "use_skill", "explore",
    }
)  # fmt: skip
"""Names of the program's own tools, those among them that are switched off."""
UNLESS_YOURS = "Such a rule does nothing, unless an agent of yours (--agent) has a tool of that name."
_WILD = "*?["


def misnamed(rule: ApprovalRule, servers: Collection[str]) -> str:
    """What is wrong with the tool that a rule names.

    Tools of servers are known only once they run, those of a person's own agent only with that agent: this is
    a hint and no error. Rules about what looks are only about such tools.

    Args:
        rule: The rule.
        servers: Names of the servers in the settings; a tool of theirs begins with one.

    Returns:
        A sentence; empty where the name may be one.
    """
    if rule.ruling == "looks" or any(fnmatchcase(tool, rule.tool) for tool in OUR_TOOLS):
        return ""
    fixed = rule.tool[: min((rule.tool.find(sign) for sign in _WILD if sign in rule.tool), default=None)]
    wild = fixed != rule.tool
    for server in servers:
        prefix = f"{server}_"
        if fixed.startswith(prefix) or (wild and prefix.startswith(fixed)):
            return ""
    near = get_close_matches(rule.tool.lower(), sorted(OUR_TOOLS), 1)
    return f"No tool is called {rule.tool}{f': is {near[0]} meant?' if near else '.'}"
