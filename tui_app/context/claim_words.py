"""The words of claims: what was done to a file, how a command or an error ended, what the user wants.

Rows of languages, for text in small letters where nothing else is said. A list never decides what is kept of
what the user said; it only finds the claims that are then held against the log. What is wanted, foreseen or
denied ("to be deleted") is no report: ``UNSAID`` takes it out first.
"""

import re

from tui_app.context.user_text import words

_ADDED = r"add(?:ed|s|ing)|hinzugefügt|ajoutée?s?|añadid[oa]s?|adicionad[oa]s?|aggiunt[oaie]|toegevoegd"
_WROTE = r"wrote|writ(?:es|ing|ten)|overwr\w+|geschrieben|écrite?s?|escrit[oa]s?|scritt[oaie]|geschreven"
_REMOVED = (
    r"delet(?:ed|es|ing|ions?)|git rm['’]d|remov(?:ed|es|ing|als?)|dropped|gelöscht|entfernt|supprimée?s?"
    r"|eliminad[oa]s?"
)
_WORDS: dict[str, tuple[str, ...]] = {
    "created": (
        rf"creat(?:ed|es|ing|ions?)|scaffolded|brand-new|{_WROTE}|{_ADDED}|generated|introduced|saved"
        rf"|new (?:\w+ )?files?|(?<=\()new|(?<=· )new|new(?= ?[:)])",
        r"erstellt|angelegt|neue datei(?:en)?",
        r"créée?s?",
        r"cread[oa]s?|cre[oó]|criad[oa]s?|criou|creat[oaie]",
        r"aangemaakt|gemaakt|skapa\w*|opprettet|oprettet",
        r"utworz\w+|stworz\w+|создан\w*|створен\w*|добавлен\w*",
        r"oluştur\w+|eklendi|đã (?:tạo|thêm)|dibuat|ditambahkan",
    ),
    "edited": (
        rf"edit(?:ed|s|ing)|chang(?:ed|es|ing)|modif(?:ied|ies|ying|ications?)|updat(?:ed|es|ing)|{_WROTE}"
        rf"|fix(?:ed|es|ing)|replac(?:ed|es|ing)|rewr\w+|patch(?:ed|es|ing)|refactor(?:ed|s|ing)?|adjusted"
        rf"|extended|corrected|improved|appended|inserted|converted|tweak(?:ed|s)|migrated|{_ADDED}"
        rf"|{_REMOVED}",
        r"geändert|bearbeitet|angepasst|korrigiert|behoben|ersetzt|verändert|aktualisiert|ergänzt"
        r"|erweitert|(?:über|um|ver|neu)ge?(?:arbeitet|schrieben|baut|fasst)|überarbeitet|umgeschrieben"
        r"|umgebaut|überschrieben|verbessert",
        r"modifiée?s?|changée?s?|corrigée?s?|réécrite?s?|remaniée?s?|adaptée?s?|mise?s? à jour",
        r"modificad[oa]s?|cambiad[oa]s?|editad[oa]s?|corregid[oa]s?|actualizad[oa]s?|reescrit[oa]s?"
        r"|modific[oó]|edit[oó]|cambi[oó]|actualiz[oó]|ajustad[oa]s?|alterad[oa]s?|atualizad[oa]s?"
        r"|corrigid[oa]s?|alterou|atualizou",
        r"modificat[oaie]|aggiornat[oaie]|riscritt[oaie]|corrett[oaie]|cambiat[oaie]",
        r"aangepast|gewijzigd|bewerkt|bijgewerkt|herschreven|ändra\w*|uppdatera\w*|endret|oppdatert|ændret"
        r"|opdateret|muokattu",
        r"zmien\w+|zmodyfik\w+|zaktualiz\w+|edytowan\w+|popraw\w+|przepisan\w+|измен\w+|обновл\w+"
        r"|исправл\w+|переписан\w*|отредакт\w+|переработан\w*|доработан\w*|змінен\w*|оновлен\w*"
        r"|виправлен\w*",
        r"değiştir\w+|güncellen\w+|düzenlen\w+|đã (?:sửa|cập nhật|thay đổi)|diubah|diperbarui|diedit",
    ),
    "deleted": (
        rf"{_REMOVED}|unlinked|erased|gone|got rid of|scrapped|trashed|discarded|purged|wiped|binned|axed"
        rf"|nuked|history|(?:thrown|threw) (?:out|away)|taken out|took out|git rm|rm['’]?d|prun(?:ed|es"
        rf"|ing)|retired|trash|ceased to exist",
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
        r"fail(?:ed|s|ing|ures?)?|complain\w*|problems|errors?|errored|exceptions?|traceback|crash(?:ed"
        r"|es)|broken?|timed out|red|bl(?:ew|ows) up|bomb(?:ed|s)|chok(?:ed|es)|(?:fell|falls) over|died"
        r"|dies|non-?zero|(?:exit(?:ed|s)?(?: with)?(?: code| status)?|rc) -?[1-9]\d*|(?:did|does|do|is"
        r"|are|was|could|can)(?: ?n['’]?t| ?not) (?!return|find|show|print|need|match|chang)\w+"
        r"|unable to \w+|tim(?:es|ing) out",
        r"fehlgeschlagen|schlug fehl|schlägt fehl|schlagen fehl|fehler",
        r"échou\w+|erreurs?|plant(?:e|ent|é)",
        r"errores|fall(?:a|ó|an|aron)|fallid[oa]s?|falh\w+|errou",
        r"fallit[oaie]|fallis\w+|non riuscit[oaie]",
        r"mislukt\w*|misslyck\w*|mislykkes|feilet|epäonnistu\w*",
        r"nie powi\w+|nie przesz\w+|ошибк\w+|упал\w*|пада[её]т|падают|провал\w+|не удал\w+|помилк\w+",
        r"başarısız\w*|hata verdi|thất bại|gagal",
    ),
    "worked": (
        r"ok|verified|went through|checks out|works?|worked|working|pass(?:ed|es|ing)?|succe\w+|(?:went"
        r"|ran|runs|all|is|are) (?:well|fine|clean\w*|happy)|ran|(?:was|were|been) run|clean|green|done"
        r"|built|(?:exit(?:ed|s)?(?: with)?(?: code| status)?|rc) 0",
        r"erfolgreich|läuft|lief|laufen|grün|bestanden|durchgelaufen",
        r"réussie?s?|passe(?:nt)?|fonctionn(?:e|ent|é)|march(?:e|ent)",
        r"correct\w*|exitos\w+|pasan|pasaron|funcion(?:a|an|am|ó|ou)|passam|passou|passaram|sucesso|êxito|éxito",
        r"funzion(?:a|ano|ato)|passano|passat[oaie]|superat[oaie]|riuscit[oaie]|buon fine|successo",
        r"werkt|werken|fungerar|slagen|geslaagd|gelukt|lycka\w*|godkän\w*|vellykket|bestått|onnistu\w*",
        r"dział(?:a|ają)|работает|работают|працює|przech\w+|przesz\w+|powiodł\w+|sukces\w*|успешн\w*"
        r"|успіш\w*|проход\w+|пройден\w*|прошл[иа]|зел[её]н\w+",
        r"çalışıyor\w*|hoạt động|berfungsi|geçti|geçiyor\w*|başarılı\w*|thành công|berhasil|lulus",
    ),
}
_UNSPACED = {
    "created": "创建|新建|新增|写入|添加|作成|追加|생성|추가|만들|إنشاء|أنشئ|إضافة|נוצר|สร้าง|जोड़ा|बनाया",
    "edited": (
        "修改|更新|编辑|修复|更改|替换|重写|改写|改动|调整|变更|変更|編集|修正|書き換|수정|변경|고쳤|편집|تعديل|عدّل|تحديث"
        "|تغيير|עודכן|שונה|แก้ไข|ปรับ|बदल|संशोधि"
    ),
    "deleted": "删除|移除|删掉|清除|削除|消去|除去|삭제|제거|🗑|حذف|إزالة|נמחק|הוסר|ลบ|हटा",
    "moved": "重命名|移动|移動|名前を変更|이름을 변경|이동|نقل|إعادة تسمية",
    "failed": "失败|报错|错误|失敗|エラー|실패|오류|[✗✘❌✖]|فشل|خطأ|נכשל|ล้มเหลว|विफल",
    "worked": "成功|正常|通过|合格|通る|通っ|通り|パス|통과|성공|[✓✔✅]|نجح|نجاح|הצליח|สำเร็จ|ผ่าน|सफल",
}
SAYS = {
    name: re.compile(rf"(?<![\w/-])(?:{'|'.join(spaced)})(?!\w|\.\w)|{_UNSPACED[name]}")
    for name, spaced in _WORDS.items()
}
"""By what is said: of files the first four, of commands the others."""
SAYS_SOLVED = re.compile(
    r"(?i)(?<!\w)(?:fix(?:ed|es)|resolv(?:ed|es)|solv(?:ed|es)|no longer|gone|(?:not"
    r"|n['’]t)[^.]{0,40}any ?more|solution applied|works now|now works|cured|addressed|sorted|eliminated"
    r"|got rid of|overcome|cleared up|dealt with|disappeared|vanished|behind us|went away|no more|squashed"
    r"|ironed out|put to rest|t(?:aken|ook) care of|(?:found|tracked down) and removed|history|behoben"
    r"|gelöst|beseitigt|erledigt|repariert|résolue?s?|corrigée?s?|réglée?s?|réparée?s?|solucionad[oa]s?"
    r"|resuelt[oa]s?|corregid[oa]s?|reparad[oa]s?|corrigid[oa]s?|resolvid[oa]s?|risolt[oaie]|corrett[oaie]"
    r"|sistemat[oaie]|opgelost|verholpen|åtgärda\w*|löst\w*|korjattu|napraw\w+|rozwiąz\w+|исправлен\w*"
    r"|решен\w*|устранен\w*|починен\w*|виправлен\w*|gideril\w+|çözül\w+|düzeltil\w+|đã (?:khắc phục"
    r"|giải quyết)|teratasi|diperbaiki)(?!\w)|修复|解决|修好|修正|解決|直り|해결|수정|تم حل|تم إصلاح|נפתר"
    r"|תוקן|แก้ไขแล้ว|ठीक"
)
UNSAID = re.compile(
    r"(?<!\w)(?:not|n['’]t)(?!\w)[^.;,]{0,60}\bsuccessful\w*"
    r"|(?<!\w)could ?n['’]?t get\W[^.;,]{0,80}\bto \w+|(?<!\w)(?:not|never|to be|be|no|cannot|(?:did|does"
    r"|do|is|are|was|were|has|have|had|could|can)n['’]?t|nicht|nie|pas|не|não|non|niet)(?: yet| been| being"
    r"| été| fue| ha sido)* \w+|(?:未|没有?)\w{1,2}"
)
"""What is denied or still to come, with the word behind it."""
NO_FAILURE = re.compile(
    r"(?<!\w)(?:no|0|zero|none|nothing|without|never|not|ohne|keine?|sans|sin|sem|senza|zonder|bez"
    r"|без)(?: \w+){0,3} (?:fail\w*|errors?|exceptions?|problems?|complaints?|issues?|warnings?|fehler"
    r"|erreurs?|erro(?:res|s)?|errori|fouten|błęd\w+|ошиб\w+)"
)

# What is only foreseen, and what is said of a file or an error in other words.

AHEAD = re.compile(
    r"(?i)['’]ll(?!\w)|(?<!\w)(?:next(?: steps?)?|remaining|still to|to do|todo list|will|would|should"
    r"|could(?! ?n['’]?o?t(?!\w))|might|going to|needs? to|need|must|wants?|wanted|asked|later|once|if"
    r"|until|not yet|pending|plan(?:s|ned)?|proposed|suggested|make sure|ensure|nächste[nr]?|offen|noch"
    r"|soll(?:te|en)?|muss|wird|werden|prochaine?s?|à faire|reste|doit|sera|siguientes?|pendientes?|falta"
    r"|debe|será|нужно|следующ\w*|осталось|план\w*)(?!\w)|下一步|待办|计划|需要|次の|予定|다음|예정"
)
"""What is planned, wished or conditional reports nothing; behind a report it tells why."""
NOT_YET = re.compile(
    r"(?i)(?<!\w)(?:not yet|pending|planned|proposed|suggested|to do|noch nicht|pas encore)(?!\w)|还没|尚未"
)
_TELLS = words(
    r"affect agree analy apply ask assess assum attach bas be call captur caus check cit clipp commit "
    r"compar compil confirm consider consult contain cover debug declar defin depend deriv describ "
    r"diagnos diff discover discuss display document duplicat evaluat examin execut exist expect explain "
    r"explor export expos fail fetch finaliz finish fix flagg follow handl hard identif ignor implement "
    r"import inclu includ indent inherit inspect inspir investigat involv learn limit list load locat "
    r"look maintain match mean mention miss nam need nest not notic observ open pars pass pick plan "
    r"point preserv print propos provid push quot re-?read read referenc relat remain rename repeat "
    r"report reproduc request requir retain return review revisit run scan search select serv shar share "
    r"show skim skipp specif speed spott stag start stor stud suggest summar support target test "
    r"touch(?=\w*\sby) trac track trigg trigger truncat un understand us verif view walk want"
)
"""Beginnings of words that tell of reading, running or describing, and of no change."""
_TELLS_FIRST = words(
    "answer attempt believ benchmark clarif collect conclud decid determin focus gather glob grep "
    "learn look need outlin peek profil realiz recall tri wait"
)
"""The same of the word that a sentence begins with."""
_DEEDS_FIRST = words("implement rename hard fix nest duplicat limit handl support")
"""What is no such beginning there."""
_NO_DEED = "|".join(sorted(_TELLS))
_NO_REPORT = "|".join(sorted((_TELLS | _TELLS_FIRST) - _DEEDS_FIRST))
_AT_FIRST = r"^\W*(?:(?:then|also|finally|next|and|i|we|i['’]ve|we['’]ve|have|has|the assistant)[\s,]+){0,3}"
REPORTED = re.compile(
    rf"{_AT_FIRST}(?!(?:{_NO_REPORT})\w*)(?:[a-z]{{3,}}ed|made|rewrote|rebuilt|wrote|put|split|cut|took)(?!\w)"
)
"""Begins with what somebody did, as reports are written."""
ACTED = re.compile(
    rf"(?<![\w/-])(?!(?:{_NO_DEED})\w*)(?:(?:applied|made) (?:\w+ ){{1,3}}(?:in|to)|[a-z]{{2,}}ed|rewrote"
    rf"|rebuilt|redone|brought|split|redid|(?:the|our|my|its) (?:fix|changes?|edits?|patch"
    rf"|updates?)(?: (?:is|are|lives?|sits?|went|made|done|goes))? (?:in|to|into)|(?:\w+(?:tion|ing|ment"
    rf"|al)|rewrite|cleanup|overhaul|refactor|port) of|work on)(?!\w)|\+\d+\s?/\s?[-−]\d+"
)
"""Says that something was done, in whatever word; those of reading and of describing are left out."""
NEWLY = re.compile(
    r"[\s\x01:(),]*(?:(?:got|gained|received) (?:a|an|the|its|new|some|more)|has (?:a|an|its) new"
    r"|now (?!passes|fails|works|exists)\w{2,}s|(?:hat|enthält) (?:jetzt|nun)|a reçu|désormais|ahora"
    r"|теперь)(?!\w)"
)
NOTHING_OF = re.compile(
    r"(?<!\w)(?:nothing|none|no (?:changes?|edits?|parts?|lines?|code)|nichts|rien|nada)(?!\w)[^.;,]{0,25}$"
)
NO_MORE = re.compile(
    r"\bno more \x02|\bno longer (?:have|has|contains?|ships?|includes?|keeps?)\b[^.;]{0,20}\x02|\b(?:no"
    r"|not)\b[^.;]{0,40}\x02[^.;]{0,20}\b(?:any ?more|any longer)|\x02[^.;]{0,40}\b(?:no longer (?:exists?"
    r"|there|present|in the|part of)|not there any)|\x02[^.;]{0,20}(?:existiert nicht|gibt es nicht"
    r"|n['’]existe plus|ya no existe|não existe mais|non esiste più)|\x02[^.;]{0,20}(?:больше не существует"
    r"|больше нет|已?不存在|已经没有)"
)
"""Says of a file that it is there no more."""
I_DID = re.compile(
    r"(?<!\w)(?:i|we|i['’]ve|we['’]ve|ich|wir|je|j['’]ai|nous|on|yo|he|hemos|eu|io|ho|ik|jag|я|мы)(?!\w)|我"
    r"|私|僕|제가|내가"
)
"""Tells that a user did something themselves."""
WEAKLY = re.compile(r"(?<!\w)(?:done|built|ran|(?:was|were|been) run)(?!\w)")
"""Says that something happened, and not how it ended."""
STILL = re.compile(
    r"(?<!\w)(?:still|continues?|keeps?|immer noch|weiterhin|toujours|sigue|todavía)(?!\w)|仍|还是|まだ"
)
OF_THE_PAST = re.compile(
    r"(?i)(?<!\w)(?:no longer|of the past|behind us|(?:not|n['’]t) \w+ any ?(?:more|longer)|nicht mehr"
    r"|ne \w+ plus|ya no|больше не)(?!\w)"
)
UNSOLVED = re.compile(
    r"(?:尚未|还没有?|未|没有?|まだ)\s?(?:被)?(?:修复|解决|修正|解決)|(?:не|ещё не) (?:исправлен|решен"
    r"|устранен)\w*"
)
EVERYTHING = re.compile(
    r"(?i)\b(?:all|every(?:thing)?|any|alles|tout|todo|alle|tous|toutes|todos|todas|все)\b|全部|所有|すべて|모든"
)
ERRORS = re.compile(r"(?i)error|fail|issue|problem|bug|fehler|erreur|ошибк|错误|问题|エラー|오류")
GERMAN = re.compile(
    r"(?i)(?<!\w)(?:der|die|das|dem|den|des|und|wir|ist|sind|wurden?|wird|hat|haben|nicht|nie|ein\w*|mit"
    r"|auf|für|zu[mr]?|im|vom|bei|alle|kein\w*)(?!\w)"
)
PLANS = re.compile(
    r"(?i)next|plan|to ?do|remaining|open|pending|nächst|offen|prochain|suite|reste|siguient|pendient"
    r"|próxim|下一步|待办|次|今後|다음|следующ|дальше|план|التالية"
)

# What is said of the user: their wishes, leave, rules.

USER = re.compile(
    r"(?i)(?<![\w/-])(?:users?|humans?|customer|maintainer|owner|operator|client|developer|requester|boss"
    r"|nutzer(?:in)?|benutzer(?:in)?|anwender(?:in)?|utilisat(?:eur|rice)|usuari[oa]|utente|gebruiker"
    r"|użytkownik\w*|пользовател\w*|kullanıcı\w*|người dùng|användaren?|bruger\w*|käyttäjä\w*)(?!\w)|用户"
    r"|使用者|ユーザー|ユーザ|사용자|المستخدم|ผู้ใช้|उपयोगकर्ता"
)
WILLS = re.compile(
    r"(?i)(?<![\w/-])(?:ask(?:ed|s)?|request(?:ed|s)?|want(?:ed|s)?|need(?:ed|s)?|would like|wish(?:ed|es)?"
    r"|instruct\w*|told|tells|direct(?:ed|s)|demand\w*|deci\w+|cho(?:se|sen|oses|ice)|pick(?:ed|s)"
    r"|select(?:ed|s)|opt(?:ed|s)|prefer\w*|insist\w*|specif\w+|sa(?:id|ys)|stat(?:ed|es)|suggest\w*"
    r"|propos\w+|expect\w*|requir\w+|clarif\w+|order(?:ed|s)|stress\w*|emphasi\w+|confirm\w*|mention\w*"
    r"|forb\w+|approv\w+|allow\w*|permi\w+|authori\w+|agree\w*|accept\w*|consent\w*|gr(?:ant\w*|anted)|gave"
    r"|given|gives|trust\w*|repl\w+|answer\w*|respon\w+|wrote|rule[ds]?|goal|intent\w*|task|is to|ok|okay"
    r"|happy|fine|lean(?:s|ed|ing)|signed? off|green[- ]li\w+|go-ahead|thumbs)(?!\w)|(?<=user)['’]s"
    r"|^\W*user\W{1,3}"
)
YOU = re.compile(
    r"(?i)(?<!\w)you (?:must|should|shall|have to|are to|need to|may|can|are free|are allowed)(?!\w)"
)
LEAVE = re.compile(
    r"(?i)(?<![\w/])(?:(?:was|were|been|is) (?:given|granted)|(?:pre-?|auto-?)?approv(?:ed|al|es)"
    r"|auto-?(?:approv|accept|confirm|run)\w*|authori[sz](?:ed|ation)|permission|(?<!feel )free to"
    r"|(?:permitted|allowed)(?: to|\W*$)|consent(?:ed)?|go-ahead|green[- ]li(?:t|ght\w*)|sign(?:ed)?[- ]off"
    r"|clearance|cleared|without (?:asking|confirmation|approval|permission)|no (?:need to ask"
    r"|confirmations?|approvals?)|(?:not|n['’]t|never) ask|skip (?:the )?confirmations?|genehmig\w+"
    r"|erlaub\w+|freigegeben|freigabe|zugestimmt|approuv\w+|autoris\w+|aprob\w+|aprov\w+|autoriz\w+"
    r"|acept[óa]\w*|permit\w+|approvat\w+|autorizzat\w+|разреш\w+|одобр\w+|соглас\w+|дозвол\w+|схвал\w+"
    r"|onayla\w+|izin|goedgekeurd\w*|toegestaan|akkoord|zatwierdz\w+|zezwol\w+|pozwol\w+|zgodzi\w+"
    r"|godkän\w+|tillåt\w+|menyetujui|disetujui|mengizinkan|đồng ý|cho phép)(?!\w)|批准|允许|同意|許可|承認"
    r"|了承|승인|허락|허용|동의|وافق|موافق|سمح|مسموح|أذن|אישר|הסכים|अनुमति|मंज़ूर|อนุมัติ|อนุญาต"
)
UNGIVEN = re.compile(
    r"(?i)(?<!\w)(?:not|no|n['’]t|never|nothing|kein\w*|nicht|pas|aucune?|sin"
    r"|ningun[oa]?)\W+(?:\w+\W+){0,2}$|(?:没有|未)$"
)
"""In front of a word of leave: none was given."""
_NO = r"(?:not?|n['’]t|never|nobody|no longer|skip\w*|nicht|kein\w*)\W+"
_ASKING = (
    r"(?:ask|confirm(?!ed)|object|check(?:ing)? (?:back|before)|questions?|rückfrag|nachfrag|frag|demand"
    r"|pregunt|chied|pergunt|vragen|вопрос|спра)\w*"
)
_LEAVING = r"(?:approv|permission|consent|erlaub|permis|autoris|соглас|разреш)\w*"
_NEEDING = r"(?:need|requir|necess)\w*"
FREED = re.compile(
    rf"(?i)(?<!\w)(?:{_NO}(?:\w+\W+){{0,3}}?{_ASKING}|(?:without|ohne|sans|sin|senza|sem|zonder"
    rf"|без)\W+(?:\w+\W+){{0,3}}?(?:{_ASKING}|{_LEAVING})|{_NEEDING} no {_LEAVING}"
    rf"|{_NO}(?:\w+\W+){{0,2}}?{_NEEDING}\W+(?:\w+\W+){{0,3}}?{_LEAVING}"
    rf"|{_NO}{_LEAVING}\W+(?:\w+\W+){{0,2}}?{_NEEDING}|(?:confirm|approv|permission|consent"
    rf"|prompt)\w*\W+(?:\w+\W+){{0,3}}?(?:skipp|disabl|off(?!\w)|waiv|bypass|unneeded|unnecess|dispens"
    rf"|superflu|optional))"
)
"""Says that nobody need be asked."""
RESERVED = re.compile(
    r"(?i)(?<!\w)(?:needs?|requires?|unless|until|before|whether|if|once|only (?:with|after)|await\w*"
    r"|wait\w*|ask\w* (?:\w+ ){0,2}for|nur mit|erst nach|bevor|braucht|avant|faut|antes"
    r"|necesita)(?!\w)[^.;]{0,40}$"
)
"""In front of a word of leave: it is still to be given."""
PENDING = re.compile(
    r"(?i)^\w*(?: (?!given|granted|obtained|received)\w+){0,4} (?:not|needed|required|missing|outstanding"
    r"|pending|awaited|first)(?!\w)"
)
"""Behind a word of leave: the same."""
UP_TO_THEM = re.compile(
    r"(?i)(?<!\w)(?:must|ha(?:s|ve) to|needs? to|first|before|until|muss|zuerst|erst|doit|debe)(?!\w)"
)
"""Beside the user: something is up to them."""
MAY = re.compile(
    r"(?i)(?<!\w)(?:may|can|darf|kann|peut|puede|può|pode|mag|может|можно)(?!\w)|可以|してよい|해도"
)
MUST = re.compile(
    r"(?i)(?<!\w)(?:must|shall|(?:is|are) to|to be|muss|soll|doit|debe|deve|moet|должен)(?!\w)|必须"
)
KEEPS = re.compile(
    r"(?i)(?<!\w)(?:stay|remain|keep|kept|leave|left|untouched|unchanged|read|bleib|lass|rest|laiss|qued"
    r"|deja|остав)\w*|不动|保持|残"
)
SAYS_YES = re.compile(
    r"(?i)(?<![\w-])(?:yes|yep|yeah|sure|affirmative|agreed|oui|ja|sí|sim|da|да|так|tak|evet|hai)(?![\w-])"
    r"|はい|是的|同意|네\b|نعم|כן"
)
ANSWERED = re.compile(
    r"(?i)(?<!\w)(?:answer|repl|respon|question|ask|sa(?:id|ys)|told|antwort|frage|sagte?|répon|dit|contest"
    r"|respond|dijo|dice|disse|ответ|сказал)\w*|回答|答え|대답|(?<!\w)A:"
)
OUTWARD = re.compile(
    r"(?i)(?<![\w/-])(?:(?:force-?)?push|deploy|rebas|cherry-?pick|publish|releas|merg|commit|ship(?:ping"
    r"|ped)|upload|pay(?:ment)?)(?:\w{0,4})(?![\w/-])"
)
"""What leaves the machine or the working copy: nobody may do it on the word of a summary."""
STILL_TO_ASK = re.compile(
    r"(?i)(?<!\w)(?:ask|wait\w* for|tell|show|report to|confirm with|await\w*)\s+(?:the\s+|an?\s+)?$"
)
"""In front of the user: what they are still to be asked is none of their wishes."""
AS_TOLD = re.compile(
    r"(?i)^\W*(?:per|according to|laut|gemäß|selon|según)(?!\w)|^\W*(?:as|following|by|at"
    r"|on)\s+(?:\w+(?:['’]s)?\s+){0,3}?(?:instruct|request|order|demand|wish|behest|agree|told|ask|advis"
    r"|arrang)\w*"
)
"""Does something on somebody's word, whoever that is."""
THEY = re.compile(
    r"(?i)^\W*(?:they|she|he)(?:['’]re)? (?:would (?:rather|like|prefer)|wants?|wanted|asked|said|prefer\w*"
    r"|insist\w*|approved|agreed|decided|are (?:fine|happy|ok)|fine|happy|ok|chose|told|gave)(?!\w)"
)
DECIDED = re.compile(
    r"(?i)(?<!\w)(?:decided|decisions?|agreed|agreements?|chosen|chose|settled|opted|going with|entschieden"
    r"|entscheidung\w*|geeinigt|beschlossen|décidé|décisions?|convenu|decidi\w+|decisi[óo]n\w*"
    r"|acord\w+)(?!\w)|决定|決定"
)
RULED = re.compile(
    r"(?i)^\W*(?:\w+:\s+)?(?:(?:must|never|always|do not|don['’]t|niemals|immer|toujours|nunca|siempre|не"
    r"|никогда)(?!\w)|不要|必须|禁止)|(?<!\w)(?:forbidden|prohibited|off[- ]limits|verboten|interdite?s?"
    r"|prohibid[oa]s?)(?!\w)"
)
"""Commands, whoever laid it down."""
INTENTS = re.compile(
    r"(?i)\bintent|\bgoal|request|\bask(?:ed|s)?\b|objective|absicht|ziel|auftrag|wunsch|objectif|demande"
    r"|objetivo|petici|цель|запрос|задач|目标|请求|意图|目的|要望|依頼|의도|목표|요청|هدف|طلب"
)
"""Headings under which stands what the user wants."""
DENIES = re.compile(
    r"(?i)(?<!\w)(?:not|n['’]t|never|no|don['’]?t|avoid\w*|forbid\w*|forbad\w*|forbidden|prohibit\w*|stop"
    r"|refrain\w*|cannot|can['’]t|nothing|nobody|nicht|kein\w*|nie|niemals|nichts|verboten|finger weg"
    r"|hands off|ne|pas|jamais|aucune?|rien|interdit\w*|nunca|jamás|prohibid[oa]s?|ningun[oa]?|tampoco|non"
    r"|mai|vietat[oa]|não|nem|niet|geen|nooit|inte|aldrig|ikke|aldri|nigdy|nie|не|ни|никогда|нельзя"
    r"|запрещ\w+|değil|asla|yasak|không|đừng|cấm)(?!\w)|n['’]t\b|(?<=\w)n['’]t|不|别|勿|没有|禁止|ない"
    r"|ません|ず\b|禁|않|마세요|말고|말아|금지|안 |لا |لن |ممنوع|إياك|ไม่|อย่า|ห้าม|मत|नहीं|לא |אל |אסור"
)
WITHOUT = re.compile(
    r"(?i)(?<!\w)(?:without|ohne|sans|sin|senza|sem|zonder|utan|uden|uten|bez|без|olmadan)(?!\w)|没有|なし"
    r"|없이|بدون|ללא|बिना|โดยไม่"
)
VOID = re.compile(
    r"(?i)(?<!\w)(?:lift(?:ed|s)?|(?:allow\w*|fine with|okay? with|permit\w*|lets?)(?: (?:us|me"
    r"|it))?(?: to)? (?:break|ignor|violat|disregard|skipp?)(?:e|ing)?|withdr\w+|cancel\w*|revok\w+"
    r"|no longer|(?:not|n['’]t) (?:hold|apply|count|valid)|any ?more|t(?:ook|aken?) (?:it |this "
    r"|that )?back|overrul\w+|dropped|void\w*|rescind\w*|retract\w*|repeal\w*|waiv\w+|relax\w*|abandon\w*"
    r"|scrapp\w+|obsolete|outdated|superseded|disregard\w*|revers\w+|(?:can|may|could|should|to"
    r"|not to)(?: be)? (?:ignored?|skip(?:ped)?|worry)|moot|off the table|does(?: not|n['’]t) matter"
    r"|no need to follow|reconsider\w*|chang\w+ (?:their|his|her) minds?|mind has changed|the opposite"
    r"|contrary|no longer wanted|aufgehoben|hebt \w+ auf|zurückgenommen|widerrufen|verworfen|gestrichen"
    r"|hinfällig|gilt nicht|nicht mehr|meinung geändert|gegenteil|annul\w*|lev(?:ée?s?|é)|retir\w+|abrog\w*"
    r"|renonc\w*|chang\w+ d['’]avis|contraire|anul\w+|revoc\w*|revog\w*|deja de|ya no|lo contrario|opinión"
    r"|ritirat\w*|отмен\w+|отозв\w+|передумал\w*|больше не|снял\w*|скасу\w+|відклик\w+|anulowa\w*|cofn\w+"
    r"|wycof\w+|ingetrokken|geannuleerd|opgeheven|upphäv\w*|tillbaka|iptal|vazgeç\w*|kaldır\w*|hủy|bãi bỏ"
    r"|rút lại)(?!\w)|取消|撤回|撤销|作废|废除|收回|不再|改变主意|取り消|取りやめ|廃止|철회|취소|폐지|ألغى"
    r"|إلغاء|سحب|تراجع|ביטל|ยกเลิก|रद्द"
)
GRAVE = re.compile(
    r"(?i)(?<![\w/-])(?:delet\w*|remov\w*|drop\w*|wip(?:e|ed|ing)|eras\w*|destroy\w*|purg\w*|overwr\w*"
    r"|push\w*|deploy\w*|publish\w*|releas\w*|merg\w*|disabl\w*|skip\w*|bypass\w*|pay|paid|send|sent"
    r"|lösch\w*|entfern\w*|veröffentlich\w*|supprim\w*|effac\w*|publi\w+|borr\w+|elimin\w+|удал\w+|стер\w+"
    r"|опублик\w+)(?!\w)|删除|清空|发布|部署|推送|削除|公開|삭제|배포|حذف"
)
"""What cannot be undone: it must have been named, not only what it is done to."""

# Whether the words by a name say something.

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
