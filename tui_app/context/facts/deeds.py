"""The words by which a text says what was done to a file, and how a command ended."""

import re

# The words by which a summary says what was done to a file, and how a command ended.
#
# For text in small letters. English first; German, French, Spanish and Chinese in their commonest forms. What
# is only wanted, foreseen or denied ("to be deleted", "never created") is no report.

_ADDED = r"add(?:ed|s|ing)|hinzugefügt|ajoutée?s?|añadid[oa]s?"
_WROTE = r"wrote|writ(?:es|ing|ten)|overwr\w+|geschrieben|écrite?s?|escrit[oa]s?"
_REMOVED = (
    r"delet(?:ed|es|ing|ions?)|git rm['’]d|remov(?:ed|es|ing|als?)|dropped|gelöscht|entfernt"
    r"|supprimée?s?|eliminad[oa]s?"
)
_WORDS = {
    "created": (
        rf"creat(?:ed|es|ing|ions?)|scaffolded|brand-new|{_WROTE}|{_ADDED}|generated|introduced|saved"
        rf"|new (?:\w+ )?files?"
        r"|(?<=\()new|(?<=· )new|new(?= ?[:)])"
        r"|erstellt|angelegt|neue datei(?:en)?|créée?s?|cread[oa]s?|creat[oai]|создан\w*|cre[oó]",
        "创建|新建|新增|写入|添加|作成|생성|추가",
    ),
    "edited": (
        rf"edit(?:ed|s|ing)|chang(?:ed|es|ing)|modif(?:ied|ies|ying|ications?)|updat(?:ed|es|ing)|{_WROTE}"
        rf"|fix(?:ed|es|ing)|replac(?:ed|es|ing)|rewr\w+|patch(?:ed|es|ing)|refactor(?:ed|s|ing)|adjusted"
        rf"|extended|corrected|improved|appended|inserted|converted|{_ADDED}|{_REMOVED}"
        r"|geändert|bearbeitet|angepasst|korrigiert|behoben|ersetzt|modifiée?s?|changée?s?|corrigée?s?"
        r"|modificad[oa]s?|cambiad[oa]s?|editad[oa]s?|corregid[oa]s?|actualizad[oa]s?|modificat[oai]"
        r"|измен\w+|обновл\w+|исправл\w+|modific[oó]|edit[oó]|cambi[oó]|actualiz[oó]",
        "修改|更新|编辑|修复|更改|替换|変更|編集|수정|변경",
    ),
    "deleted": (
        rf"{_REMOVED}|unlinked|erased|gone|effacée?s?|borrad[oa]s?|eliminat[oai]|elimin[oó]|borr[oó]"
        r"|got rid of|удал\w+",
        "删除|移除|删掉|削除|삭제|🗑",
    ),
    "moved": (
        r"renam(?:ed|es|ing)|mov(?:ed|es|ing)|umbenannt|verschoben|renommée?s?|déplacée?s?|renombrad[oa]s?",
        "重命名|移动",
    ),
    "failed": (
        r"fail(?:ed|s|ing|ures?)?|errors?|errored|exceptions?|crash(?:ed|es)|broken|broke|timed out|red"
        r"|exit(?:ed|s)?(?: with)?(?: code| status)? -?[1-9]\d*|(?:did|does|do|is|are|was|could"
        r"|can)(?: ?nt| ?not) \w+"
        r"|fehlgeschlagen|schlug fehl|schlägt fehl|schlagen fehl|fehler|échou\w+|erreurs?|fall(?:a|ó|an"
        r"|aron)|fallid[oa]s?"
        r"|fallis\w+|falh\w+|ошибк\w+|упал\w*|пада[её]т|падают|провал\w+",
        "失败|报错|错误|失敗|エラー|실패|오류|[✗✘❌]",
    ),
    "worked": (
        r"ok|works?|worked|pass(?:ed|es|ing)?|succe\w+|(?:went|ran|runs|all|is|are) (?:well|fine|clean\w*)"
        r"|ran|(?:was|were|been) run|clean|green|done|built|exit(?:ed|s)?(?: with)?(?: code| status)? 0"
        r"|erfolgreich|läuft|lief|laufen|grün|réussie?s?|passent|correct\w*|exitos\w+|pasan|pasaron"
        r"|passano|passam"
        r"|успешн\w*|проход\w+|пройден\w*|прошл[иа]|зел[её]н\w+",
        "成功|通过|合格|通る|通っ|パス|통과|성공|[✓✔✅]",
    ),
}
SAYS = {
    name: re.compile(rf"(?<![\w/-])(?:{spaced})(?!\w|\.\w)|{unspaced}")
    for name, (spaced, unspaced) in _WORDS.items()
}
UNSAID = re.compile(
    r"(?<!\w)(?:not|never|to be|be|no|cannot|(?:did|does|do|is|are|was|were|has|have|had|could|can)nt|nicht"
    r"|nie|pas)(?: yet| been| being| été| fue| ha sido)* \w+"
)
NO_FAILURE = re.compile(
    r"(?<!\w)(?:no|0|zero|without|never|not|ohne|keine?|sans|sin)(?: \w+)? (?:fail\w*|errors?|exceptions?"
    r"|fehler|erreurs?)"
)
_INTO = re.compile(
    rf"(?<!\w)(?:{_ADDED}|{_WROTE}|{_REMOVED})(?!\w)[^,;·]{{0,120}} (?:to|in|into|from|of|for) "
)
"""What was put into a file or taken out of it is an edit of that file."""
_BY_DEED = {
    "created": ("created", "moved"),
    "edited": ("edited",),
    "written": ("created", "edited"),
    "deleted": ("deleted", "moved"),
}
_BY_TOOL = {
    "created": re.compile(r"write|create|save"),
    "edited": re.compile(r"write|edit|replace|patch|insert|append|update|modify"),
    "deleted": re.compile(r"delete|remove|unlink"),
    "moved": re.compile(r"move(?!r)|rename"),
}
_BY_COMMAND = {
    "created": re.compile(r"(?<![\w-])touch [^;&|]*$"),
    "edited": re.compile(r"(?<![\w-])sed -i[^;&|]*$"),
    "deleted": re.compile(r"(?<![\w-])rm [^;&|]*$"),
    "moved": re.compile(r"(?<![\w-])mv [^;&|]*$"),
}


def families_of(deeds: str) -> tuple[str, ...]:
    """The families of words of which one must be said of a file; none where it was only read.

    Args:
        deeds: What was done, as a fact tells it: ``created, edited 3×``. A deletion is all that counts then.
    """
    done = [deed.split(" ")[0] for deed in deeds.split(", ")]
    if "deleted" in done:
        return _BY_DEED["deleted"]
    return tuple(dict.fromkeys(family for verb in done for family in _BY_DEED.get(verb, ())))


def says_deed(before: str, after: str, families: tuple[str, ...]) -> bool:
    """Whether the words around the name of a file say that one of these things was done to it.

    Args:
        before: What stands before the name in its sentence, or in a label above it.
        after: What stands behind it.
        families: From ``families_of``.
    """
    said = f"{before} {after}"
    if not any(SAYS[family].search(said) for family in families):
        return command_does(before, families)
    before, after = UNSAID.sub(" ", before), UNSAID.sub(" ", after)
    apart = f"{_INTO.sub(' ', before)} {after}"
    said = f"{before} {after}"
    return any(SAYS[family].search(said if family == "edited" else apart) for family in families)


def tool_does(tool: str, families: tuple[str, ...]) -> bool:
    """Whether a tool does one of these things to its file, by its name."""
    return any(_BY_TOOL[family].search(tool) for family in families)


def command_does(before: str, families: tuple[str, ...]) -> bool:
    """Whether a command, as it stands before the name of a file, does one of these things to it."""
    return any(_BY_COMMAND[family].search(before) for family in families)


def says_outcome(said: str, *, failed: bool) -> bool:
    """Whether the words around a command say that it failed, or that it worked.

    Args:
        said: The sentence without the command, or a label above it.
        failed: Which of the two is looked for.
    """
    if failed:
        return SAYS["failed"].search(NO_FAILURE.sub(" ", said)) is not None
    return SAYS["worked"].search(UNSAID.sub(" ", said)) is not None or NO_FAILURE.search(said) is not None
