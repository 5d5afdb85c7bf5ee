"""The words by which a text says what was done to a file, and how a command or an error ended.

One row a language, for text in small letters. A list never decides what is kept of what the user said; it
only finds the claims that are then held against the log. What is wanted, foreseen or denied ("to be deleted")
is no report: ``UNSAID`` takes it out first.
"""

import re

_ADDED = r"add(?:ed|s|ing)|hinzugefügt|ajoutée?s?|añadid[oa]s?|adicionad[oa]s?|aggiunt[oaie]|toegevoegd"
_WROTE = r"wrote|writ(?:es|ing|ten)|overwr\w+|geschrieben|écrite?s?|escrit[oa]s?|scritt[oaie]|geschreven"
_REMOVED = (
    r"delet(?:ed|es|ing|ions?)|git rm['’]d|remov(?:ed|es|ing|als?)|dropped|gelöscht|entfernt"
    r"|supprimée?s?|eliminad[oa]s?"
)
_WORDS: dict[str, tuple[str, ...]] = {
    "created": (
        rf"creat(?:ed|es|ing|ions?)|scaffolded|brand-new|{_WROTE}|{_ADDED}|generated|introduced|saved"
        r"|new (?:\w+ )?files?|(?<=\()new|(?<=· )new|new(?= ?[:)])",
        r"erstellt|angelegt|neue datei(?:en)?",
        r"créée?s?",
        r"cread[oa]s?|cre[oó]|criad[oa]s?|criou|creat[oaie]",
        r"aangemaakt|gemaakt|skapa\w*|opprettet|oprettet",
        r"utworz\w+|stworz\w+|создан\w*|створен\w*|добавлен\w*",
        r"oluştur\w+|eklendi|đã (?:tạo|thêm)|dibuat|ditambahkan",
    ),
    "edited": (
        rf"edit(?:ed|s|ing)|chang(?:ed|es|ing)|modif(?:ied|ies|ying|ications?)|updat(?:ed|es|ing)|{_WROTE}"
        r"|fix(?:ed|es|ing)|replac(?:ed|es|ing)|rewr\w+|patch(?:ed|es|ing)|refactor(?:ed|s|ing)?|adjusted"
        r"|extended|corrected|improved|appended|inserted|converted|tweak(?:ed|s)|migrated"
        rf"|{_ADDED}|{_REMOVED}",
        r"geändert|bearbeitet|angepasst|korrigiert|behoben|ersetzt|verändert|aktualisiert|ergänzt|erweitert"
        r"|(?:über|um|ver|neu)ge?(?:arbeitet|schrieben|baut|fasst)|überarbeitet|umgeschrieben|umgebaut"
        r"|überschrieben|verbessert",
        r"modifiée?s?|changée?s?|corrigée?s?|réécrite?s?|remaniée?s?|adaptée?s?|mise?s? à jour",
        r"modificad[oa]s?|cambiad[oa]s?|editad[oa]s?|corregid[oa]s?|actualizad[oa]s?|reescrit[oa]s?"
        r"|modific[oó]|edit[oó]|cambi[oó]|actualiz[oó]|ajustad[oa]s?|alterad[oa]s?|atualizad[oa]s?"
        r"|corrigid[oa]s?|alterou|atualizou",
        r"modificat[oaie]|aggiornat[oaie]|riscritt[oaie]|corrett[oaie]|cambiat[oaie]",
        r"aangepast|gewijzigd|bewerkt|bijgewerkt|herschreven|ändra\w*|uppdatera\w*|endret|oppdatert|ændret"
        r"|opdateret|muokattu",
        r"zmien\w+|zmodyfik\w+|zaktualiz\w+|edytowan\w+|popraw\w+|przepisan\w+|измен\w+|обновл\w+"
        r"|исправл\w+|переписан\w*|отредакт\w+|переработан\w*|доработан\w*|змінен\w*|оновлен\w*|виправлен\w*",
        r"değiştir\w+|güncellen\w+|düzenlen\w+|đã (?:sửa|cập nhật|thay đổi)|diubah|diperbarui|diedit",
    ),
    "deleted": (
        rf"{_REMOVED}|unlinked|erased|gone|got rid of|scrapped|trashed|discarded|purged|wiped|binned|axed"
        r"|nuked|history|(?:thrown|threw) (?:out|away)|taken out|took out|git rm",
        r"beseitigt|weggeworfen",
        r"effacée?s?|retirée?s?",
        r"borrad[oa]s?|elimin[oó]|borr[oó]|apagad[oa]s?|removid[oa]s?|excluíd[oa]s?|apagou|removeu",
        r"eliminat[oaie]|rimoss[oaie]|cancellat[oaie]",
        r"verwijderd|gewist|raderad\w*|borttag\w*|slettet|poistettu",
        r"usunię\w+|skasowan\w+|удал\w+|стёрт\w*|убран\w*|видален\w*",
        r"silin\w+|silindi|kaldırıl\w+|đã xóa|dihapus",
    ),
    "moved": (
        r"renam(?:ed|es|ing)|mov(?:ed|es|ing)",
        r"umbenannt|verschoben",
        r"renommée?s?|déplacée?s?",
        r"renombrad[oa]s?|movid[oa]s?|renomead[oa]s?|rinominat[oaie]|spostat[oaie]",
        r"hernoemd|verplaatst|переименован\w*|перемещ\w+",
    ),
    "failed": (
        r"fail(?:ed|s|ing|ures?)?|complain\w*|problems|errors?|errored|exceptions?|traceback|crash(?:ed|es)"
        r"|broken?|timed out|red|blew up"
        r"|non-?zero|(?:exit(?:ed|s)?(?: with)?(?: code| status)?|rc) -?[1-9]\d*"
        r"|(?:did|does|do|is|are|was|could|can)(?: ?n['’]?t| ?not)"
        r" (?!return|find|show|print|need|match|chang)\w+|unable to \w+",
        r"fehlgeschlagen|schlug fehl|schlägt fehl|schlagen fehl|fehler",
        r"échou\w+|erreurs?",
        r"errores|fall(?:a|ó|an|aron)|fallid[oa]s?|falh\w+|errou",
        r"fallit[oaie]|fallis\w+|non riuscit[oaie]",
        r"mislukt\w*|misslyck\w*|mislykkes|feilet|epäonnistu\w*",
        r"nie powi\w+|nie przesz\w+|ошибк\w+|упал\w*|пада[её]т|падают|провал\w+|не удал\w+|помилк\w+",
        r"başarısız\w*|hata verdi|thất bại|gagal",
    ),
    "worked": (
        r"ok|works?|worked|working|pass(?:ed|es|ing)?|succe\w+"
        r"|(?:went|ran|runs|all|is|are) (?:well|fine|clean\w*|happy)|ran|(?:was|were|been) run|clean|green"
        r"|done|built|(?:exit(?:ed|s)?(?: with)?(?: code| status)?|rc) 0",
        r"erfolgreich|läuft|lief|laufen|grün|bestanden|durchgelaufen",
        r"réussie?s?|passe(?:nt)?",
        r"correct\w*|exitos\w+|pasan|pasaron|passam|passou|passaram|sucesso|êxito|éxito",
        r"passano|passat[oaie]|superat[oaie]|riuscit[oaie]|buon fine|successo",
        r"slagen|geslaagd|gelukt|lycka\w*|godkän\w*|vellykket|bestått|onnistu\w*",
        r"przech\w+|przesz\w+|powiodł\w+|sukces\w*|успешн\w*|успіш\w*|проход\w+|пройден\w*|прошл[иа]"
        r"|зел[её]н\w+",
        r"geçti|geçiyor\w*|başarılı\w*|thành công|berhasil|lulus",
    ),
}
_UNSPACED = {
    "created": "创建|新建|新增|写入|添加|作成|追加|생성|추가|만들|إنشاء|أنشئ|إضافة|נוצר|สร้าง|जोड़ा|बनाया",
    "edited": (
        "修改|更新|编辑|修复|更改|替换|重写|改写|改动|调整|变更|変更|編集|修正|書き換|수정|변경|고쳤|편집|تعديل|عدّل|تحديث"
        "|تغيير|עודכן|שונה|แก้ไข|ปรับ|बदल|संशोधि"
    ),
    "deleted": "删除|移除|删掉|清除|削除|消去|삭제|제거|🗑|حذف|إزالة|נמחק|הוסר|ลบ|हटा",
    "moved": "重命名|移动|移動|名前を変更|이름을 변경|이동|نقل|إعادة تسمية",
    "failed": "失败|报错|错误|失敗|エラー|실패|오류|[✗✘❌✖]|فشل|خطأ|נכשל|ล้มเหลว|विफल",
    "worked": "成功|通过|合格|通る|通っ|通り|パス|통과|성공|[✓✔✅]|نجح|نجاح|הצליח|สำเร็จ|ผ่าน|सफल",
}
SAYS = {
    name: re.compile(rf"(?<![\w/-])(?:{'|'.join(spaced)})(?!\w|\.\w)|{_UNSPACED[name]}")
    for name, spaced in _WORDS.items()
}
"""By what is said: of files the first four, of commands the others."""
SAYS_SOLVED = re.compile(
    r"(?i)(?<!\w)(?:fix(?:ed|es)|resolv(?:ed|es)|solv(?:ed|es)|no longer"
    r"|gone|(?:not|n['’]t)[^.]{0,40}any ?more|cured|addressed|sorted|eliminated|got rid of|overcome"
    r"|cleared up|dealt with|disappeared|vanished|behind us"
    r"|behoben|gelöst|beseitigt|erledigt|repariert"
    r"|résolue?s?|corrigée?s?|réglée?s?|réparée?s?"
    r"|solucionad[oa]s?|resuelt[oa]s?|corregid[oa]s?|reparad[oa]s?|corrigid[oa]s?|resolvid[oa]s?"
    r"|risolt[oaie]|corrett[oaie]|sistemat[oaie]"
    r"|opgelost|verholpen|åtgärda\w*|löst\w*|korjattu"
    r"|napraw\w+|rozwiąz\w+|исправлен\w*|решен\w*|устранен\w*|починен\w*|виправлен\w*"
    r"|gideril\w+|çözül\w+|düzeltil\w+|đã (?:khắc phục|giải quyết)|teratasi|diperbaiki)(?!\w)"
    r"|修复|解决|修好|修正|解決|直り|해결|수정|تم حل|تم إصلاح|נפתר|תוקן|แก้ไขแล้ว|ठीक"
)
UNSAID = re.compile(
    r"(?<!\w)could ?n['’]?t get\W[^.;,]{0,80}\bto \w+"
    r"|(?<!\w)(?:not|never|to be|be|no|cannot|(?:did|does|do|is|are|was|were|has|have|had|could|can)n['’]?t"
    r"|nicht|nie|pas|не|não|non|niet)(?: yet| been| being| été| fue| ha sido)* \w+|(?:未|没有?)\w{1,2}"
)
"""What is denied or still to come, with the word behind it."""
NO_FAILURE = re.compile(
    r"(?<!\w)(?:no|0|zero|none|nothing|without|never|not|ohne|keine?|sans|sin|sem|senza|zonder|bez|без)"
    r"(?: \w+){0,3} (?:fail\w*|errors?|exceptions?|problems?|complaints?|issues?|warnings?|fehler|erreurs?"
    r"|erro(?:res|s)?|errori|fouten|błęd\w+|ошиб\w+)"
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
