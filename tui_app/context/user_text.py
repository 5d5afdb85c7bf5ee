"""Extract what the user really typed from a prompt, without what programs wrapped around it.

Agents put reminders, command echoes, environment notes and attached files into user messages. A rule found
there is not the user's, so all of it is taken out before anything is read as the user's own words.
"""

import re
from collections.abc import Callable, Sequence

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
    "logs output stack_trace stacktrace traceback diff patch quote transcript ticket document mail email "
    "message readme comment page article"
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


# What others said, in a message of the user's: told by its shape; words only say which of two readings holds.

_FENCE = re.compile(r"^[ \t]{0,8}(```|~~~)[^\n]{0,200}\n.*?(?:^[ \t]{0,8}\1[`~]{0,9}[ \t]*$|\Z)", re.M | re.S)
_QUOTED_LINE = re.compile(
    r"[ \t]{0,8}(?:>|\[?\d{4}-\d\d-\d\d[T \t]{1,2}\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|\[[A-Z]{4,8}\][ \t:]"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )"
)
"""Block quotes, and lines of a log."""
_MARKS = (
    r"“[^“”]{2,4000}”|„[^„“”]{2,4000}[“”]|«[^«»]{2,4000}»|»[^«»]{2,4000}«|‹[^‹›]{2,4000}›|”[^”“]{2,4000}”"
    r"|「[^「」]{2,4000}」|『[^『』]{2,4000}』|(?<![\w\"=])\"(?=\S)[^\"]{2,4000}\"(?![\w\"])"
)
_SPEECH = re.compile(_MARKS)
_SEVERAL = re.compile(r"[.!?…][\"'”»)]?\s+\S|[。！？؟।].|\n")
"""Where a sentence ends and another one begins."""
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*•+]|\d{1,3}[.)])[ \t]")
_HEADER = re.compile(r"[^\W\d_][\w -]{1,24}[:：][ \t]*\S")
_MAIL = re.compile(
    r"(?im)^[^\n:]{1,25}[:：][^\n@]{0,200}@[\w-]+\.\w|^(?:subject|betreff|asunto|objet|assunto|oggetto"
    r"|onderwerp|тема|主题|主旨|件名|الموضوع|제목)[ \t]*[:：]"
)
_SAYS = re.compile(
    r"(?i)\b(?:says?|(?<!\bi )(?:said|wrote|writes?)|reads|quot(?:e[sd]?|ing)|schr(?:eibt|ieb)|sagte?"
    r"|dice|dijo|escrib(?:e|ió)|diz|disse|escreveu|dit|écrit|scrive|ha scritto|mówi|napisał\w*|zegt|schreef"
    r"|пишет|написал\w*|говорит|сказал\w*|يقول|كتب|تقول|yazıyor|diyor|yazdı)\b|说|写道|寫道|書いて|言って|とある"
    r"|라고|적혀|말했"
)
_DOCUMENT = re.compile(
    r"(?i)\b(?:tickets?|issue|e-?mails?|message|letter|logs?|readme|docs?|document(?:ation)?|comment|review|post"
    r"|customer|client|chat|page|article|wiki|report|meldung|nachricht|kunde\w?|protokoll|kommentar|courriel"
    r"|correo|mensaje|cliente|registro|comentario|журнал|лог\w?|тикет\w?|письмо|сообщени\w|клиент\w?|заявк\w"
    r"|رسالة|الرسالة|التذكرة|تذكرة|السجل|العميل|البريد)\b|工单|邮件|日志|客户|文档|评论|消息|チケット|メール|ログ"
    r"|お客様|顧客|文書|티켓|메일|로그|고객|문서"
)
_LONG_PASTE = 1_500
"""Characters behind a colon that nobody types."""
_LONGEST_INTRODUCTION = 240


def without_quotes(text: str) -> str:
    """What the user typed without what they quote or hand over: an issue, a mail, a log, somebody's words.

    Fences, block quotes, lines of a log, indented blocks, mails with their headers, speech of several
    sentences, and what an introduction with a colon hands over. What could be the user's own list stays.

    Args:
        text: From ``typed_text``.
    """
    text = _FENCE.sub("\n\n", _without_blocks(text, _QUOTED) if "</" in text else text)
    text = _SPEECH.sub(_clipped_speech, text)
    lines = [line for line in text.split("\n") if not _QUOTED_LINE.match(line)]
    blocks = [block for block in re.split(r"\n[ \t]*\n", "\n".join(lines)) if block.strip()]
    blocks = [block for block in blocks if not _is_indented(block)] or blocks
    asked = len(blocks) > 2 and blocks[-1].rstrip("\"')* \n").endswith(("?", "？", "؟"))
    if asked and any(
        _DOCUMENT.search(block) or _SAYS.search(block) for block in _short(blocks[0], blocks[-1])
    ):
        blocks = [blocks[0], blocks[-1]]
    own: list[str] = []
    for number, block in enumerate(blocks):
        head = block.strip().split("\n")[:6]
        if len(head) > 1 and all(map(_HEADER.match, head[:2])) and _MAIL.search("\n".join(head)):
            break
        kept, over = _introduced(block, blocks[number + 1 :])
        own.append(kept)
        if over:
            break
    return "\n\n".join(own)


def _clipped_speech(speech: re.Match[str]) -> str:
    """What several sentences in quotation marks become, so that none of them stands alone."""
    told = speech.string[: speech.start()].rstrip()[-1:] in (":", "：", "，")
    return "“ … ”" if _SEVERAL.search(speech[0], 1, len(speech[0]) - (not told)) else speech[0]


def is_speech(sentence: str, *, directs: Callable[[str], bool]) -> bool:
    """Whether a sentence only passes on what stands in it in quotation marks.

    Args:
        sentence: One sentence of the user's.
        directs: Whether words ask for something.
    """
    quoted = [speech[0] for speech in _SPEECH.finditer(sentence) if _is_long(speech[0])]
    if not quoted:
        return False
    around = _SPEECH.sub(" ", sentence)
    if _SAYS.search(around) and not directs(_SAYS.sub(" ", around)):
        return True
    told = re.search(rf"[:：,，][ \t]{{0,4}}(?:{_MARKS})", sentence) is not None
    if directs(around):
        return told and _DOCUMENT.search(around) is not None
    return told or sum(map(len, quoted)) > len(around)


def _is_long(quoted: str) -> bool:
    """Whether quotation marks hold a sentence: three words, or as much without spaces."""
    return len(quoted.split()) > 2 or sum(char > "\u0dff" for char in quoted) > 7


def _is_indented(block: str) -> bool:
    return all(line.startswith(("    ", "\t")) for line in block.split("\n")) and not _ITEM.match(block)


def _short(*blocks: str) -> list[str]:
    return [block for block in blocks if len(block) <= _LONGEST_INTRODUCTION]


def _introduced(block: str, after: Sequence[str]) -> tuple[str, bool]:
    """What of a block is the user's own, and whether all that follows it is somebody else's."""
    for colon in re.finditer(r"[:：](?=\s|$)|：", block):
        begin = max(block.rfind("\n", 0, colon.start()) + 1, colon.start() - _LONGEST_INTRODUCTION)
        introduction = re.split(r"[.!?。！？]\s*", block[begin : colon.start()])[-1]
        rest = block[colon.end() :]
        if _SAYS.search(introduction) and not _SPEECH.match(rest.lstrip(" \t*_")):
            return block[: colon.end()], not rest.strip()
        if rest.strip() and (rest.lstrip(" \t")[:1] != "\n" or _ITEM.match(rest.lstrip(" \t")[1:])):
            continue
        near = " ".join(introduction.split()[-4:])
        document = _DOCUMENT.search(near) and (rest.strip() or not (after and _ITEM.match(after[0])))
        pasted = sum(map(len, after)) + len(rest) > _LONG_PASTE and not (after and _ITEM.match(after[0]))
        if document or pasted or (after and not rest.strip() and after[0].lstrip().startswith("#")):
            return block[: colon.end()], not rest.strip()
    return block, False


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


# The telling words of a text, for comparing sentences across inflections and scripts.

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Runs of scripts in which no space parts the words, or words carry their particles."""
_TELLING = re.compile(r"([\u0e00-\u0eff\u3400-\u9fff\uac00-\ud7af]+)|[\u30a1-\u30ff]{2,}")
"""Of them what tells something: hiragana joins and inflects; a word in katakana stands for itself."""
_ENDING = re.compile(r"(?<=...)(?:ings?|edly|ed|ies|es|en|er|em|s|e|n)$")
_STEM = 6
"""Characters by which two forms of one word are known as such."""
_COMMON = words(
    "the and for that this with from have has had will would been were was are not but they them their "
    "there then than into onto when which while what where who whom whose should could must shall may "
    "might can also only just very more most some such each every other another after before about above "
    "below over under again still now here how its his her him she our your you mine does did doing done "
    "being because don didn isn und der die das den dem des ein eine einen einem einer ist sind war waren "
    "wird wurde werden hat haben hatte nicht auch aber oder wenn dann noch nach vor bei mit von für auf "
    "aus als wie sich soll sollen muss kann dass les des une est sont était pas que qui dans pour avec "
    "sur par plus mais donc leur ses son cette los las uno del con por para como más pero está fue hay "
    "debe sus este esta gli che non per una sono della это что как для при все его она они был была были "
    "быть или если тоже уже только чтобы нужно على إلى من في عن مع هذا هذه التي الذي أن إن كل"
)


def stems_of(text: str) -> frozenset[str]:
    """The telling words of a text, each in a form that its inflections share.

    Where no space parts the words, each pair of signs stands for one.
    """
    found: set[str] = set()
    folded = text.casefold()
    for match in _TELLING.finditer(folded):
        if run := match[1]:
            found |= {run[place : place + 2] for place in range(max(1, len(run) - 1))}
        else:
            found.add(match[0][:_STEM])
    for word in _WORD.findall(_UNSPACED.sub(" ", folded)):
        bare = word.replace("’", "'").partition("'")[0]
        if len(bare) >= 3 and bare not in _COMMON:
            short = _ENDING.sub("", bare)
            short = short[:-1] if len(short) > 3 and short[-1] == short[-2] else short
            found.add(short[:_STEM])
    return frozenset(found)
