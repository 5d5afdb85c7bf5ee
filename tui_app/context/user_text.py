"""Extract what the user really typed from a prompt, without what programs wrapped around it.

Agents put reminders, command echoes, environment notes and attached files into user messages. A rule found
there is not the user's, so all of it is taken out before anything is read as the user's own words.
"""

import re

# Sets of words, written as one text.


def words(text: str) -> frozenset[str]:
    """The words of a text, split at white space."""
    return frozenset(text.split())


_TAGS = words(
    "system-reminder system_reminder command-message command-name command-contents local-command-caveat "
    "local-command-stdout local-command-stderr bash-input bash-stdout bash-stderr environment_context "
    "environment_details user_instructions instructions context current_datetime conversation_summary "
    "summary path type content file files file_content attached_files attachments ide_opened_file "
    "ide_selection task-notification retry_feedback user-prompt-submit-hook tool_use_error tool_result "
    "reminder skill project_instructions session_context turn_aborted user_action sql_tables"
)
_REMINDERS = words(
    "system-reminder system_reminder reminder environment_context environment_details session_context "
    "current_datetime task-notification user-prompt-submit-hook local-command-caveat local-command-stdout "
    "local-command-stderr turn_aborted ide_opened_file ide_selection"
)
"""Those that stand in messages nobody wrote; in others a program may hand over what the user asked for."""
_NOTE_TAG = re.compile(
    r"(?i)(?:agent|background|bash|ide|mcp|new|post|pre|session|stop|subagent|system|task|tool)[\w-]*"
    r"[_-](?:caveat|diagnostics|hook|notification|reminder)|hook[_-](?:context|feedback|output|prompt)"
)
"""Tags that only agents' programs write, also those to come; elements of a page may end in the same words."""
_QUOTED = words(
    "issue issue_description issue_body bug_report pr_description error errors error_log error_message log "
    "logs output stack_trace stacktrace traceback diff patch quote transcript ticket document"
)
"""Blocks in which the user hands over what others wrote."""
_TAG = re.compile(r"<([A-Za-z][A-Za-z_-]{1,40})(?:[ \t][^<>\n]{0,200})?>")
_COMMAND_NAME = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_COMMAND_ARGS = "command-args"
_WRAPPERS = _TAGS | {_COMMAND_ARGS}
_LONGEST_REFUSAL = 20_000
_SAID = re.compile(r"(?is)\b(?:the )?user (?:said|wrote|answered)\b[^:\n]{0,40}:\s*(.+)$")
_NOTES = (
    "caveat: the messages below were generated",
    "# agents.md instructions for",
    "here is the user's editor context",
    "here is a summary of changes in the user's editor context",
)
"""How texts begin that a program wrote from beginning to end."""
_INTERRUPTED = "[request interrupted by user"
_HOOK = re.compile(
    r"\s*(?:[A-Z][a-z]+){1,4}(?::\S{1,60})? hook (?:additional context|(?:blocking )?error|feedback|success):"
)
"""How a note begins that hands on what a hook printed."""
_TOLD = re.compile(r"\s*<(?:agent|background|bash|subagent|task)[\w-]*notification[ >]")
"""How a text begins that reports on something in the background, up to its last word."""
_SURROUNDINGS = re.compile(r"\s*# (?:Context from my IDE setup|Files mentioned by the user)\b", re.IGNORECASE)
"""How the surroundings begin that an editor puts in front of a request."""
_REQUEST = re.compile(r"^#{1,3} My request(?: for [^\n:]{1,40})?:?[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""What stands between the two."""
_INJECTED_STARTS = (
    _INTERRUPTED,
    *_NOTES,
    "this session is being continued from a previous conversation",
    "called the read tool with the following input",
    "base directory for this skill",
    "(the conversation starts in the middle.)",
    "another language model started to solve this problem",
    "<conversation_summary>",
)


def typed_text(text: str) -> str:
    """Return only what the user typed, or an empty string when nothing in the text is theirs.

    Args:
        text: One text of a user message as it was sent.

    Returns:
        The user's own words, stripped. For a slash command with arguments it is the command and its
        arguments, because that is what was typed.
    """
    if text.lstrip()[:80].casefold().startswith(_INJECTED_STARTS):
        return ""
    if "<" in text and _block(text, _COMMAND_ARGS) and (command := command_typed(text)):
        return command
    own = text if is_marked_command(text) else own_text(text)
    return (_without_blocks(own, _WRAPPERS) if "<" in own else own).strip()


def own_text(text: str) -> str:
    """A prompt without what programs wrote into it; a slash command as it was typed.

    What the user may have pasted stays, whatever tags it stands in.

    Args:
        text: One text of a user message as it was sent.

    Returns:
        The text itself when it holds no note, and nothing when it is one.
    """
    if text.lstrip()[:80].casefold().startswith(_NOTES) or _HOOK.match(text) or _TOLD.match(text):
        return ""
    if _SURROUNDINGS.match(text):
        request = _REQUEST.search(text)
        text = text[request.end() :].strip() if request else ""
    if "<" not in text:
        return text
    if is_marked_command(text):
        return command_typed(text)
    own = _without_blocks(text, _REMINDERS)
    return text if own == text else own.strip()


def is_marked_command(text: object) -> bool:
    """Whether a text is a slash command with the marks in which programs write one down."""
    begins = isinstance(text, str) and text.lstrip().startswith("<command-")
    return begins and _COMMAND_NAME.search(str(text)) is not None


def without_quotes(text: str) -> str:
    """What the user typed without the blocks in which they hand over what others wrote, such as an issue.

    Args:
        text: From ``typed_text``.
    """
    return _without_blocks(text, _QUOTED) if "</" in text else text


def command_typed(text: str) -> str:
    """The slash command that the user typed, with its arguments, or an empty string.

    A bare one steers the program and asks for nothing, but it is the user's doing.

    Args:
        text: One text of a user message as it was sent.
    """
    command = _COMMAND_NAME.search(text)
    return f"{command[1].strip()} {_block(text, _COMMAND_ARGS)}".strip() if command else ""


def only_reminds(text: str) -> bool:
    """Whether nobody asks for anything in a text of a user message: programs put reminders and notes there.

    Args:
        text: One text of a user message as it was sent.
    """
    if text.lstrip()[:80].casefold().startswith(_INTERRUPTED):
        return True
    return bool(text.strip()) and not own_text(text).strip()


def said_in_refusal(answer: str) -> str:
    """What the user typed when they declined a tool call, or an empty string.

    Args:
        answer: What the call was answered with; only for calls whose outcome says that the user declined.

    Returns:
        The user's own words, stripped.
    """
    match = _SAID.search(answer[:_LONGEST_REFUSAL])
    return typed_text(match[1]) if match else ""


def _block(text: str, tag: str) -> str:
    """The inside of the first block with this tag."""
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>", start)
    return text[start + len(tag) + 2 : end].strip() if 0 <= start < end else ""


def _without_blocks(text: str, tags: frozenset[str]) -> str:
    """Take out every block of some tags; an opening without its end is left as text."""
    pieces: list[str] = []
    unclosed: set[str] = set()
    position = 0
    for match in _TAG.finditer(text):
        tag = match[1]
        known = tag.lower() in tags or _NOTE_TAG.fullmatch(tag)
        if match.start() < position or not known or tag in unclosed:
            continue
        end = text.find(f"</{tag}>", match.end())
        if end < 0:
            unclosed.add(tag)
            continue
        pieces.append(text[position : match.start()])
        position = end + len(tag) + 3
    return "".join([*pieces, text[position:]])
