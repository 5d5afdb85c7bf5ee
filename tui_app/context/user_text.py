"""The user's own text in a prompt, without what programs wrapped around it.

Agents put reminders, command echoes, environment notes and attached files into user messages. A rule found
there is not the user's, so all of it is removed before anything is read as the user's own words.
"""

import re
from collections.abc import Iterator

from tui_app.text import words

_TAGS = words(
    "system-reminder system_reminder command-message command-name command-contents "
    "local-command-caveat local-command-stdout local-command-stderr bash-input bash-stdout "
    "bash-stderr environment_context environment_details user_instructions instructions context "
    "current_datetime conversation_summary summary path type content file files file_content "
    "attached_files attachments ide_opened_file ide_selection task-notification retry_feedback "
    "user-prompt-submit-hook tool_use_error tool_result reminder skill project_instructions "
    "session_context turn_aborted user_action sql_tables"
)
_REMINDERS = words(
    "system-reminder system_reminder reminder environment_context environment_details session_context "
    "current_datetime task-notification user-prompt-submit-hook local-command-caveat "
    "local-command-stdout local-command-stderr turn_aborted ide_opened_file ide_selection"
)
"""Tags of messages that no user wrote; with the other tags a program may pass on what the user asked for."""
_NOTE_TAG = re.compile(
    r"(?i)(?:agent|background|bash|ide|mcp|new|post|pre|session|stop|subagent|system|task|tool)[\w-]*"
    r"[_-](?:caveat|diagnostics|hook|notification|reminder)|hook[_-](?:context|feedback|output|prompt)"
)
"""Tags that only agent programs write, including future ones; elements of a page may end in the same words.
"""
_QUOTED = words(
    "issue issue_description issue_body bug_report pr_description error errors error_log "
    "error_message log logs output stack_trace stacktrace traceback diff patch quote transcript "
    "ticket document mail email message readme comment page article"
)
"""Blocks in which the user quotes text by others."""
_TAG = re.compile(r"<([A-Za-z][A-Za-z_-]{1,40})(?:[ \t][^<>\n]{0,200})?>")
_COMMAND_NAME = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_COMMAND_ARGS = "command-args"
_WRAPPERS = _TAGS | {_COMMAND_ARGS}
_LONGEST_REFUSAL = 20_000
NOT_DONE = "Not done: {}. Do not try the same in another way; go on without it, or ask the user."
"""Result of a call that was not allowed to run."""
SAID_NO = "the user said no"
BY_HOOK = "Not run: the user's preTool hook "
"""Beginning of the result of a call that a hook blocked."""
_NOT_DONE_HEAD, _NOT_DONE_TAIL = NOT_DONE.split("{}")
_QUOTED_ANSWER = re.compile(r"(?is)\b(?:the )?user (?:said|wrote|answered)\b[^:\n]{0,40}:\s*(.+)$")
_NOTES = (
    "caveat: the messages below were generated",
    "# agents.md instructions for",
    "here is the user's editor context",
    "here is a summary of changes in the user's editor context",
)
"""Beginnings of texts that were completely written by a program."""
_INTERRUPTED = "[request interrupted by user"
_HOOK = re.compile(
    r"\s*(?:[A-Z][a-z]+){1,4}(?::\S{1,60})? hook (?:additional context|(?:blocking )?error|feedback|success):"
)
"""Beginning of a note with a hook's output."""
_NOTIFICATION = re.compile(r"\s*<(?:agent|background|bash|subagent|task)[\w-]*notification[ >]")
"""Beginning of a text that is entirely a report about a background task."""
_SURROUNDINGS = re.compile(r"\s*# (?:Context from my IDE setup|Files mentioned by the user)\b", re.IGNORECASE)
"""Beginning of the surroundings that an editor puts before a request."""
_REQUEST = re.compile(r"^#{1,3} My request(?: for [^\n:]{1,40})?:?[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""Heading between the two."""
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
    """Return only what the user typed, or an empty string if nothing in the text is theirs.

    Args:
        text: One text of a user message as it was sent.

    Returns:
        The user's own words, stripped. For a slash command with arguments it is the command and its
        arguments, because that is what was typed.
    """
    if text.lstrip()[:80].casefold().startswith(_INJECTED_STARTS):
        return ""
    marked = is_marked_command(text)
    if marked and _block(text, _COMMAND_ARGS) and (command := command_typed(text)):
        return command
    own = text if marked else own_text(text)
    return (_without_blocks(own.strip(), _WRAPPERS, inline=False) if "<" in own else own).strip()


def own_text(text: str) -> str:
    """Return a prompt without text by programs; a slash command as it was typed.

    Text that the user may have pasted stays, whatever its tags.

    Args:
        text: One text of a user message as it was sent.

    Returns:
        The text itself if it contains no note, and an empty string if it is one.
    """
    if text.lstrip()[:80].casefold().startswith(_NOTES) or _HOOK.match(text) or _NOTIFICATION.match(text):
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
    """Whether a text is a slash command with the tags in which programs record one."""
    begins = isinstance(text, str) and text.lstrip().startswith("<command-")
    return begins and _COMMAND_NAME.search(str(text)) is not None


_FENCE = re.compile(r"^[ \t]{0,8}(```|~~~)[^\n]{0,200}\n.*?(?:^[ \t]{0,8}\1[`~]{0,9}[ \t]*$|\Z)", re.M | re.S)
_QUOTED_LINE = re.compile(
    r"[ \t]{0,8}(?:>|\||\$ |\[?\d{4}-\d\d-\d\d[T \t]{1,2}\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|\[[A-Z]{4,8}\][ \t:]"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |[+-]{3} |@@ |at \S+\(|File \"|Traceback )"
)
"""Block quotes, tables, and lines of a log, a diff or a traceback."""
_SPEECH = re.compile(
    r"“[^“”]{2,4000}”|„[^„“”]{2,4000}[“”]|«[^«»]{2,4000}»|»[^«»]{2,4000}«|‹[^‹›]{2,4000}›|”[^”“]{2,4000}”"
    r"|「[^「」]{2,4000}」|『[^『』]{2,4000}』|(?<![\w\"=])\"(?=\S)[^\"]{2,4000}\"(?![\w\"])"
)
_SEVERAL = re.compile(r"[.!?…][\"'”»)]?\s+\S|[。！？؟।].|\n")
"""The end of a sentence before another one."""
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*•+]|\d{1,3}[.)])[ \t]")
_HEADER = re.compile(r"[^\W\d_][\w -]{1,24}[:：][ \t]*\S")
_ADDRESS = re.compile(r"@[\w-]+\.\w")


def own_words(text: str) -> str:
    """Return what the user typed without quotes and pasted text.

    These are fences, block quotes, tables, lines of logs and diffs, indented blocks, mails with their
    headers, tagged blocks, and speech of several sentences.

    Args:
        text: From ``typed_text``.
    """
    text = _FENCE.sub("\n\n", _without_blocks(text, _QUOTED) if "</" in text else text)
    text = _SPEECH.sub(lambda speech: "“ … ”" if _SEVERAL.search(speech[0], 1) else speech[0], text)
    lines = [line for line in text.split("\n") if not _QUOTED_LINE.match(line)]
    blocks = [block for block in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines)) if block.strip()]
    own: list[str] = []
    for block in blocks:
        head = block.strip().split("\n")[:6]
        if len(head) > 1 and all(map(_HEADER.match, head[:2])) and _ADDRESS.search("\n".join(head)):
            break  # a mail, up to its end
        if _ITEM.match(block) or not all(line.startswith(("    ", "\t")) for line in block.split("\n")):
            own.append(block)
    return "\n\n".join(own)


LONGEST_SENTENCE = 1_200
"""Characters; a longer run without an end is data."""
_BULLET = re.compile(r"^(?:[-*+•–]|\d{1,3}[.)]|[a-z][.)]|#{1,6})\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"(?<=[.!?…])[\"'”»)\]]{0,3}\s+(?=\S)|(?<=[。！？；।۔؟])")
_SHORT_WORD = re.compile(
    r"(?:(?:^|[\s(])[^\W\d_](?:\.[^\W\d_])*\.|^\d{1,3}\.|\b(?:vs|etc|bzw|approx|Nr|No)\.)$"
)
"""Full stops that end no sentence: initials, ``e.g.``, the number of an item."""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, each from one line or a hard-wrapped paragraph."""
    for paragraph in paragraphs(text):
        start = 0
        for match in _END.finditer(paragraph):
            if _SHORT_WORD.search(paragraph[max(start, match.start() - 8) : match.start()]):
                continue
            if piece := paragraph[start : match.end()].strip():
                yield piece
            start = match.end()
        rest = paragraph[start:].strip()
        if rest and len(rest) <= LONGEST_SENTENCE:
            yield rest


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a text without bullets and extra white space, hard-wrapped ones joined."""
    waiting = ""
    for raw in text.splitlines():
        line = one_line(raw)
        wrapped = len(waiting) >= 50 and line[:1].islower() and waiting[-1:] not in ".!?:;。！？"
        if line and wrapped:
            waiting = f"{waiting} {line}"
            continue
        if waiting:
            yield waiting
        waiting = _BULLET.sub("", line)
    if waiting:
        yield waiting


def one_line(text: str) -> str:
    """Collapse every run of white space to one space."""
    return " ".join(text.split())


_BARE_COMMAND = re.compile(r"/[\w:-]{0,60}")


def is_bare_command(text: str) -> bool:
    """Whether a prompt is only a slash command, which controls the program and asks for nothing."""
    return _BARE_COMMAND.fullmatch(text) is not None


OMITTED = " characters omitted]…"
"""End of the mark in a clipped text."""


def clipped(text: str, limit: int) -> str:
    """Keep the head and the tail of a long text, and state how much is missing between them.

    Args:
        text: Any text.
        limit: Maximum characters to keep; three quarters of them from the head.

    Returns:
        The text itself if it fits, or if the mark is no shorter than what it replaces. Words are not cut if
        there is white space to cut at.
    """
    if len(text) <= limit:
        return text
    head, tail = text[: max(1, limit * 3 // 4)], text[-max(1, limit // 4) :]
    if (cut := max(head.rfind(" "), head.rfind("\n"))) > 0:
        head = head[:cut]
    starts = [place for place in (tail.find(" "), tail.find("\n")) if place >= 0]
    tail = tail[min(starts) + 1 :] if starts else tail
    shown = f"{head.rstrip()} …[{len(text) - len(head) - len(tail)}{OMITTED} {tail.lstrip()}"
    return shown if len(shown) < len(text) else text


def beginning(text: str, limit: int) -> str:
    """Return the beginning of a line, cut at a word, with a mark of how much is missing."""
    if len(text) <= limit:
        return text
    head = text[: max(1, limit) + 1]
    space = max(head.rfind(" "), head.rfind("\n"))
    kept = head[:space].rstrip() if space > 0 else head[:-1]
    shown = f"{kept} …[{len(text) - len(kept)}{OMITTED}"
    return shown if len(shown) < len(text) else text


def command_typed(text: str) -> str:
    """Return the slash command that the user typed, with its arguments, or an empty string.

    A bare one controls the program and asks for nothing, but it is an action of the user.

    Args:
        text: One text of a user message as it was sent.
    """
    command = _COMMAND_NAME.search(text)
    return f"{command[1].strip()} {_block(text, _COMMAND_ARGS)}".strip() if command else ""


def only_reminds(text: str) -> bool:
    """Whether a text of a user message is only reminders and notes by programs.

    Args:
        text: One text of a user message as it was sent.
    """
    if text.lstrip()[:80].casefold().startswith(_INTERRUPTED):
        return True
    return bool(text.strip()) and not own_text(text).strip()


def is_barred(answer: str) -> bool:
    """Whether a rule, a mode, a guard or a hook declined a call, rather than the user."""
    by_gate = answer.startswith(_NOT_DONE_HEAD) and not answer.startswith(f"{_NOT_DONE_HEAD}{SAID_NO}")
    return by_gate or answer.startswith(BY_HOOK)


def refusal_reason(answer: str) -> str:
    """Return what the user typed when they declined a tool call, or an empty string.

    Args:
        answer: Result of the call; only for calls whose outcome is that the user declined.

    Returns:
        The user's own words, stripped.
    """
    match = _QUOTED_ANSWER.search(answer[:_LONGEST_REFUSAL].removesuffix(_NOT_DONE_TAIL))
    return typed_text(match[1]) if match else ""


def _block(text: str, tag: str) -> str:
    """Return the content of the first block with this tag."""
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>", start)
    return text[start + len(tag) + 2 : end].strip() if 0 <= start < end else ""


def _without_blocks(text: str, tags: frozenset[str], *, inline: bool = True) -> str:
    """Remove every block with one of some tags; an opening tag without its end is kept as text.

    Args:
        text: Text with the blocks.
        tags: Their names.
        inline: Whether tags of plain letters are also removed inside a line, where users write elements.
    """
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
        after = end + len(tag) + 3
        before = text[max(position, text.rfind("\n", 0, match.start()) + 1) : match.start()]
        alone = "\n" in text and not before.strip() and text[after:].lstrip(" \t")[:1] in ("", "\n", "<")
        if not (inline or alone) and tag.isalpha():
            continue
        pieces.append(text[position : match.start()])
        position = after
    return "".join([*pieces, text[position:]])
