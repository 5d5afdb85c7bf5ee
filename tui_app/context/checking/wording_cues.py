"""The words by which a message says yes or no, gives leave, or speaks of what cannot be taken back."""

import re

from tui_app.context.fact_extractors.words import words

STOP = words(
    "the a an and or of to in on for with at by from as is are was were be been being it its this that"
    " these those there here they them their he she his her we our us you your i me my mine so if then"
    " than but not no nor do does did doing done have has had having can could should would will shall may"
    " might must also just only very any all each both some such other another more most same into onto"
    " over under about up out off when where which who whom whose what why how while because until before"
    " after again further once now new via per etc user users human customer asked ask asks asking request"
    " requests requested requesting want wants wanted need needs needed like likes would wish wishes"
    " instruct instructed instructs tell told tells said say says state stated states suggest suggested"
    " suggests propose proposed prefer prefers preferred insist insisted insists specified specify decide"
    " decided decides chose choose chosen confirm confirmed confirms approve approved approves approval"
    " allow allowed allows agree agreed agrees accept accepted authorize authorized authorise authorised"
    " permission consent explicit explicitly original originally initial initially first second third"
    " fourth latest last current currently later next task goal intent feedback message messages question"
    " preference preferences decision constraint constraints requirement requirements instruction"
    " instructions require requires required always never every please make sure let lets us get gets getting"
    " assistant agent change changes thing things work continue proceed go going"
    # German, French, Spanish, Italian, Portuguese
    " der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden"
    " wurde hat haben nicht kein keine mit von zu zum zur für auf im an bei aus nach es er sie wir ihr ich"
    " du sich als wie dass wenn auch nur noch soll sollen sollte muss müssen kann können bitte immer nie"
    " niemals nutzer nutzerin benutzer anwender möchte will wollte wünscht gebeten bat sagte gesagt"
    " zugestimmt le la les un une et ou est sont pas ne que qui dans pour sur avec du au aux ce cette il"
    " elle je tu nous vous doit être utilisateur demandé demande veut souhaite toujours jamais el los las"
    " una y o es son no en por con del al se lo que su para usuario pidió quiere siempre nunca debe il lo"
    " gli e di che non per con una della utente chiesto vuole sempre mai os as um uma não em do da para"
    " usuário pediu quer sempre nunca"
)
ASSENT = re.compile(
    r"(?i)(?:yes|yep|yeah|yup|y|sure|go ahead|go for it|do it|do that|please do|please go|proceed"
    r"|sounds (?:good|great)|lgtm|approved?|agreed?|exactly|absolutely|of course|i (?:approve|agree"
    r"|confirm)|you (?:may|can)|ship it|ja|jawohl|klar|gerne|mach|einverstanden|genau|in ordnung|oui"
    r"|d['’]accord|vas-y|allez-y|bien sûr|sí|si|dale|claro|de acuerdo|adelante|sim|pode|certo|dawaj|zgoda"
    r"|tak|да|давай|согласен)\b|可以|行|是的?|同意|はい|お願い|いい(?:よ|です)|네|예|응|그래|진행"
)
NOD = re.compile(
    r"(?i)(?:ok(?:ay)?|good|great|fine|perfect|nice|right|correct|cool|all ?right|continue|looks (?:good"
    r"|great|fine)|gut|passt|vale|bien|va bene|dobra|хорошо|ок)\b|好|좋"
)
"""Words that say yes when little else is said, and otherwise only begin a sentence."""
DENIAL = re.compile(
    r"(?i)(?:no|nope|nah|don['’]?t|do not|stop|wait|hold on|cancel|not yet|never|nein|nicht|halt|stopp"
    r"|warte|non|arrête|attends|para|espera|não|pare|aspetta|nie|stój|нет|не надо|стой)\b|不|别|いいえ"
    r"|やめ|待って|아니|잠깐|멈"
)
NEGATION = re.compile(
    r"(?i)\b(?:never|not|no|nothing|nobody|none|without|avoid|cannot|neither|nor|forbid\w*|forbade"
    r"|prohibit\w*|refus\w*|reject\w*|against|nicht|nichts|kein\w*|nie|niemals|ohne|ne|rien|pas|jamais"
    r"|sans|nunca|nada|jamás|sin|non|niente|mai|senza|não|sem|не|ничего|без|никогда)\b"
    r"|n['’]t\b|不|别|勿|禁止|ない|しないで|않|말고|마세요"
)
NEGATED_BEHIND = re.compile(
    r"(?i)\W*(?:\w+\W+){0,3}?(?:nicht|nie|niemals|kein\w*|pas|jamais)\b|.{0,8}?(?:ない|하지|지 ?마|말)"
)
"""What stands behind a verb to say no, in languages that say it there."""
FORBIDS = re.compile(
    r"(?i)\W*(?:(?:please|also|but|and|so|ok|okay|just|you|we|i|yes|no|for now)\W+){0,4}"
    r"(?:(?:never|don['’]?t|do not|must ?n[o'’]t|should ?n[o'’]t|may not|cannot|can['’]t|without|avoid|stop"
    r"|forbid|nie|niemals|nicht|kein|ohne|bitte (?:nie|nicht|kein)|(?:\w+ ){1,3}(?:nie|nicht|kein\w*)|ne"
    r"|jamais|sans|no (?!problem|worr)\w|nunca|jamás|sin|non|mai|senza|não|sem|не|никогда|без)\b|n['’])"
    r"|.{0,8}(?:不要|别|勿|禁止)|.*(?:しないで|지 마|말아)"
)
"""How a clause begins that forbids what it names."""
CLAUSE = re.compile(r"[;,；，、]|\bbut\b|\band then\b|\baber\b")
CHOICE = re.compile(
    r"(?i)(?:(?:let['’]?s )?(?:do|take|use|go (?:with|for)) )?(?:(?:the |option |number |variant |choice "
    r"|nr\.? |#)?(?:\d{1,2}|[a-e]|first|second|third|last|both|all)(?: one| option)?)\W*"
)
ATTRIBUTION = re.compile(
    r"用户|使用者|要求|希望|请求|想要|想|决定|选择|指定|指示|同意|批准|允许|授权|把|将|的|并|了|ユーザー?"
    r"|利用者|依頼|求め|述べ|承認|許可|了承|ください|すること|するよう|した|する|は|を|が|に|の|사용자"
    r"|요청|승인|동의|허락|허가|했습니다|했다|합니다|한다|주세요|에서|으로|을|를|은|는"
)
_DEEDS: dict[str, tuple[str, str]] = {
    "delete": (
        r"\b(?:delet|remov|eras|wip(?:e|ing)|purg|destroy|unlink|truncat|drop(?!s\b)|clean(?!s\b)"
        r"|get(?:ting)? rid|rm\b|kill|trash|strip|lösch|entfern|supprim|effac|enlev"
        r"|borr|elimin|quita|rimuov|apag|remov|exclu"
        r"|usuń|usun|удал|стер)",
        r"删|移除|清除|削除|消し|삭제|제거|지워",
    ),
    "publish": (
        r"\b(?:push|publish|deploy|releas|ship|upload|send|sent|post(?!gre|-)|submit|e-?mail|tweet|announc"
        r"|veröffentlich|ausroll|hochlad|schick|sende|publi|déploi|déploy|envo[iy]|enví|despleg|subir"
        r"|pubblica|invia|wyślij|wdróż|опублик|отправ|выложи)",
        r"发布|部署|推送|上传|发送|公開|デプロイ|送信"
        r"|プッシュ|배포|전송|게시|푸시",
    ),
    "commit": (
        r"\b(?:commit|merg|rebas|zusammenführ|fusionn|fusion|коммит|слить)",
        r"提交|合并|コミット|マージ|커밋"
        r"|병합",
    ),
    "overwrite": (
        r"\b(?:overwrit|overrid|forc(?:e|ing)|reset|revert|discard|roll(?:ing)? ?back|undo|restor"
        r"|überschreib|zurücksetz|verwerf|verwirf|écras|réinitialis|sobrescrib|restablec|sovrascriv"
        r"|перезапи|сбро)",
        r"覆盖|重置|回滚|上書き|リセット|덮어|초기화",
    ),
    "switch off": (
        r"\b(?:skip|bypass|ignor|disabl|circumvent|suppress|turn(?:ing|ed)? off|switch(?:ing|ed)? off"
        r"|no-verify|without (?:\w+ ){0,2}(?:test|check|review|ask|approv|confirm|back|verif)|überspring"
        r"|deaktivier|abschalt|ausschalt|umgeh|désactiv|contourn|omit|deshabilit|desactiv|salta|disattiv"
        r"|pomiń|wyłącz|пропусти|отключ|игнор)",
        r"跳过|忽略|禁用|绕过|スキップ|無視|無効|건너|무시|비활성",
    ),
    "cancel": (
        r"\b(?:cancel|call(?:ing|ed)? off|stornier|kündig|annul|disdi|cancell|отмен)",
        r"取消|キャンセル|취소",
    ),
    "pay": (
        r"\b(?:pay|paid|buy|bought|purchas|refund|charg(?:e|ing)|transfer(?:red|ring)? |wire|bezahl"
        r"|überweis|kauf|achet|compr[ae]|paga|оплат|куп)",
        r"支付|购买|付款|退款|支払|購入|返金|결제|구매|환불",
    ),
    "disclose": (
        r"\b(?:disclos|expos|leak|reveal|grant|hand(?:ing)? over|weitergeb|preisgeb|divulg|revel|condivi"
        r"|раскр)",
        r"泄露|公开|共享|共有|漏|공유|노출",
    ),
}
ANY_DEED = {name: re.compile(rf"(?:{spaced}|{unspaced})\w*") for name, (spaced, unspaced) in _DEEDS.items()}
"""Deeds that cannot be taken back, by the beginnings of the words for them, for text in small letters."""
_SPACED = re.compile("|".join(spaced for spaced, _ in _DEEDS.values()))
_UNSPACED = re.compile("|".join(unspaced for _, unspaced in _DEEDS.values()))


def speaks_of_deeds(text: str) -> bool:
    """Whether a text in small letters mentions any of these deeds, if only to forbid it."""
    return bool(_SPACED.search(text)) or (not text.isascii() and bool(_UNSPACED.search(text)))
