"""The words by which a summary ascribes something to the user; English first, then other languages."""

import re

_PERSON = r"(?:user|human|customer|developer|operator|client|maintainer|owner|admin(?:istrator)?|requester)"
_USER = r"(?:the |our )?\b(?:user|human|customer)\b(?:\))?"
_ANYONE = (
    rf"(?:(?:the |our )?\b{_PERSON}\b\)?|\b(?:you|they|he|she|(?:the |your )?(?:boss|manager"
    rf"|management|team|stakeholders?))\b)"
)
_BETWEEN = (
    r"(?:,? (?:has|have|had|did|also|then|now|later|first|initially|just|again|explicitly|clearly"
    r"|specifically|only|always|repeatedly|finally|originally|already|still|further|additionally|strongly"
    r"|previously|and|who|generally|fully|next))*"
)
_ASKS = (
    r"(?:ask(?:ed|s)?|request(?:ed|s)?|want(?:s|ed)?|need(?:s|ed)?|would like|wish(?:es|ed)?|instruct(?:ed"
    r"|s)?|told|tells|direct(?:ed|s)|demand(?:ed|s)?|decid(?:ed|es)|chose|chooses|chosen|pick(?:ed|s)"
    r"|select(?:ed|s)|opt(?:ed|s)|prefer(?:s|red)?|insist(?:ed|s)?|specif(?:ied|ies)|sa(?:id|ys)|state[ds]"
    r"|suggest(?:ed|s)|propose[ds]|expect(?:s|ed)|require[ds]|clarif(?:ied|ies)|ordered|stress(?:ed|es)"
    r"|emphasi[sz]e[ds]|confirm(?:ed|s)|mention(?:ed|s)|d(?:oes|id)(?:n['’]t| not) (?:want|need)"
    r"|forb(?:ids|ade))"
)
_WORD_OF_LEAVE = (
    r"(?:permission|approval|consent|go-ahead|green[- ]light|okay|ok|authori[sz]ation"
    r"|clearance|blessing|thumbs[- ]up|sign-?off)"
)
_APPROVES = (
    r"(?:(?:pre-?)?approve[ds]?|authori[sz]e[ds]?|agree[ds]?|accept(?:ed|s)|consent(?:ed|s)|permit(?:ted|s)"
    r"|allow(?:ed|s)|okay(?:ed|s)|ok['’](?:d|s)|oked|green-?(?:lit|light(?:s|ed))|sign(?:ed|s) off"
    r"|waive[ds]"
    rf"|(?:gave|gives|given|granted|grants|give|grant) (?:[\w-]+ ){{0,3}}{_WORD_OF_LEAVE}"
    r"|granted (?:[\w-]+ ){0,3}(?:access|rights?|privileges?)|lets? (?:the |us|you|me|it)"
    r"|(?:repl(?:ied|ies)|answer(?:ed|s)|respond(?:ed|s)|sa(?:id|ys)"
    r"|wrote)(?: with)?:? [\"'“‘*]{0,2}(?:yes|ok|okay|sure|go"
    r"|it(?:['’]s| is| was) (?:fine|ok|okay|allowed|good)|approved)\b"
    r"|(?:is|was|are|were) (?:fine|ok|okay|happy|good|on board) with"
    r"|(?:trust(?:s|ed)|delegate[ds])\b|ha(?:s|d|ve) no objections?"
    r"|(?:enabled?s?|disable[ds]|turn(?:s|ed) o(?:n|ff)|switch(?:es|ed) (?:on|off|to)) (?:[\w-]+ ){0,2}"
    r"(?:approvals?|auto-?approv\w*|yolo|confirmations?|permissions?)"
    r"|cleared|confirmed (?:the |that )?(?:[\w-]+ ){0,3}(?:deletion|removal|deployment|release|push"
    r"|merge|publication"
    r"|payment|can|may|to)\b|(?:no longer|do(?:es)?(?: not|n['’]t)) (?:require|need"
    r"|want)s? (?:to be asked|[\w-]*"
    r" ?(?:confirmation|approval|permission|prompts?)))"
)
_NOUN = (
    r"(?:pre-?)?(?:approval|permission|consent|go-ahead|authori[sz]ation|blessing|clearance"
    r"|sign-?off|green[- ]light|thumbs[- ]up)"
)
_DONE = (
    r"(?:(?:pre-?|auto-?)?approved|authori[sz]ed|green-?(?:lit|lighted)|okayed|ok['’]d"
    r"|signed[- ]off|consented to|cleared (?:with|by))"
)
_BY_OTHERS = (
    r"(?! by (?:@|`|ci\b|github|the (?:ci|bot|\w+ bot|reviewer|code ?owner)|reviewers?\b|\w+\[bot\]))"
)
_APPROVAL = (
    rf"{_ANYONE}{_BETWEEN} {_APPROVES}",
    rf"{_USER} .{{1,160}}?,? and (?:then |also |later |instead )?{_APPROVES}",
    rf"\b(?:approved|authori[sz]ed|accepted|agreed|permitted|allowed|okayed|granted|cleared|confirmed"
    rf"|signed off)(?: \w+)?"
    rf" (?:by|with) {_ANYONE}",
    rf"\b(?:with|has|have|had|got|received|given|obtained|under|at) (?:explicit "
    rf"|full )?{_ANYONE}['’]?s? (?:\w+ )?{_NOUN}",
    rf"\b{_NOUN} (?:from|of|by) {_ANYONE}[^.]{{0,40}} (?:given|granted|received|obtained)",
    rf"\b(?<!no ){_NOUN}\b(?! (?:is|was) (?:not|n['’]t))[^.]{{0,60}}? (?:was|is|were|are|has been"
    rf"|have been)"
    r" (?:\w+ )?(?:given|granted|obtained|received|in place|on file)\b",
    rf"^\W*(?:\w+ )?{_NOUN}:? (?:given|granted|obtained|received|exists)\b",
    rf"\b(?:standing|blanket|general|prior|full|written|verbal) {_NOUN}\b|\b{_NOUN} exists\b",
    rf"\b(?:has|have|had|was|were|is|are|be)(?: been)?(?: \w+ly| already| all)? {_DONE}\b{_BY_OTHERS}",
    r"\b(?:assistant|agent|model|ai|we|i|you) ha(?:s|ve|d) (?:\w+ ){0,2}(?:permission|approval|consent"
    r"|authori\w+|clearance)\b",
    r"\b(?:it was agreed|agreed) that (?:the (?:assistant|agent|model|ai)|we|i|you|it)\b",
    r"\b(?:assistant|agent|model|ai|we|i) (?:is|are|am|was|were) (?:\w+ly )?(?:allowed|permitted"
    r"|entitled|free) to\b",
    r"\bno (?:\w+ ){0,2}(?:confirmations?|approvals?|permissions?|consent|sign-?off) (?:(?:is|was|are"
    r"|will be|be) )?"
    r"(?:needed|required|requested|necessary)",
    r"\b(?:freigabe|genehmigung|erlaubnis|zustimmung)\b[^.]{0,60}\b(?:erteilt|liegt vor|gegeben"
    r"|erhalten)\b",
    r"\b(?:wurden?|ist|sind|waren?)\b(?:(?!nicht\b)[^.]){0,60}\b(?:genehmigt|freigegeben|erlaubt)\b",
    r"\b(?:est|sont|a été|ont été) (?:approuv|autoris)é",
    r"\b(?:fue(?:ron)?|está|ha sido|han sido) (?:aprobad|autorizad)[oa]s?\b",
    r"\b(?:may|can) [^.]{1,80} without (?:asking|approval|confirmation|permission)",
    r"^\W*(?:user[- ])?(?:(?:pre-?)?approved|authori[sz]ed|okayed|permitted|allowed)\W{0,4}? ?[:(—–-]",
    r"^\W*(?:user[- ])?approval\W{0,4}:\W*(?:yes|granted|given|ok)",
    r"[:—–(]\W{0,5}(?:pre-?)?(?:approved|authori[sz]ed|granted|permitted|allowed|okayed"
    r"|signed[- ]off|go-ahead)\b",
    rf"\b(?:ok|okay|yes|green light|thumbs[- ]up|go-ahead) (?:from|by) {_ANYONE}",
    r"^\W*(?:the )?(?:user|human|customer|developer|operator|client)\W{1,5}"
    r"(?:yes|ok|okay|sure|go ahead|do it|approved|you (?:may|can))\b",
)
_REQUEST = (
    rf"{_USER}{_BETWEEN} {_ASKS}\b",
    rf"{_USER} .{{1,160}}?,? and (?:then |also |later |instead )?{_ASKS}\b",
    rf"\b(?:asked|requested|instructed|told|decided|chosen|specified|wanted|preferred|suggested|demanded"
    rf"|required|mandated|stated|ordered|desired)(?: \w+)? by {_USER}",
    rf"{_USER}['’]s (?:[\w-]+ ){{0,3}}(?:requests?|instructions?|wish(?:es)?|preferences?|decisions?"
    r"|choices?|requirements?|demands?|rules?|constraints?|orders?|words?|goal|direction|behest|command)\b",
    rf"\b(?:as|per) {_USER}",
    rf"\b{_PERSON}(?: \(user\))?{_BETWEEN} (?:asked|told|instructed|requested|directed|ordered|decided"
    rf"|demanded)\b",
    r"\b(?:you|they|he|she) (?:also |have |had |then |explicitly )*(?:asked|told|instructed|requested"
    r"|directed"
    r"|ordered|decided|demanded|wanted)\b",
    r"\bas (?:you |they )?(?:requested|instructed|directed|asked|ordered|agreed|demanded)\b",
    r"^\W*(?:the )?(?:user|human)(?: (?:request|feedback|decision|preference|instruction|constraint"
    r"|message|wish"
    r"|goal)s?)?\W{0,3}:",
)
_OTHERS: tuple[tuple[str, str, str], ...] = (
    (
        r"\b(?:nutzer(?:in)?|benutzer(?:in)?|anwender(?:in)?)\b",
        r"\b(?:gebeten|bat|bittet|verlangt|möchte|wollte|will|wünscht|gewünscht|fordert|gefordert|sagte?"
        r"|gesagt|entschied|entschieden|gewählt|wählte|bevorzugt|besteht|angewiesen|beauftragt|verlangte"
        r"|wünschte)\b",
        r"\b(?:zugestimmt|stimmte?\b.{0,60} zu|genehmigte?|freigegeben|erlaubte?|einverstanden|bewilligte?"
        r"|gestattete?|freigabe|erlaubnis|genehmigung|zustimmung)\b",
    ),
    (
        r"\bl(?:['’]|e )(?:utilisat|us)(?:eur|rice|er)\b",
        r"\b(?:demandé|demande|veut|voulait|souhaite|préfère|dit|décidé|choisi|exige|insiste|précisé)\b",
        r"\b(?:approuv|autoris|accept|donné son accord|valid)",
    ),
    (
        r"\b(?:el|la) usuari[oa]\b",
        r"\b(?:pidió|pide|solicit|quiere|quería|desea|prefiere|dijo|decidió|eligió|exige|insiste|indicó"
        r"|ordenó)",
        r"\b(?:aprob|autoriz|acept|permiti|dio (?:su )?(?:permiso|visto bueno))",
    ),
    (
        r"\bl['’]utente\b",
        r"\b(?:chiesto|chiede|vuole|voleva|desidera|preferisce|detto|deciso|scelto|esige)\b",
        r"\b(?:approvat|autorizzat|accettat|permess|consentit)",
    ),
    (
        r"\b[oa] (?:usuári[oa]|utilizadora?)\b",
        r"\b(?:pediu|pede|solicit|quer|queria|deseja|prefere|disse|decidiu|escolheu|exig|insist)",
        r"\b(?:aprov|autoriz|aceit|permiti)",
    ),
    (
        r"\bużytkownik",
        r"\b(?:poprosił|prosi|chce|chciał|woli|powiedział|zdecydował|wybrał|wymaga)",
        r"\b(?:zatwierdził|zgodził|zaakceptował|pozwolił)",
    ),
    (
        r"\bпользовател",
        r"\b(?:попросил|просит|хочет|хотел|сказал|решил|выбрал|требует|предпочитает|велел)",
        r"\b(?:одобрил|разрешил|согласил|утвердил)",
    ),
    (r"用户|使用者", r"要求|希望|想|请求|说|决定|选择|指定|指示", r"同意|批准|允许|授权"),
    (r"ユーザー?|利用者", r"要求|依頼|希望|求め|述べ|言っ|決め|決定|選択|選ん|指示", r"承認|同意|許可|了承"),
    (r"사용자", r"요청|원하|원함|말했|결정|선택|지시|선호", r"승인|동의|허락|허가"),
)
"""Other languages: the user, verbs of asking and deciding, verbs of allowing; in one sentence, in any"
" order."""

ANY_APPROVAL = re.compile("|".join(_APPROVAL), re.IGNORECASE)
ANY_REQUEST = re.compile("|".join(_REQUEST), re.IGNORECASE)
ACTIVE = re.compile("|".join((*_APPROVAL[:2], *_REQUEST[:2])), re.IGNORECASE)
"""The user as the one who does it, with what they want behind."""
REFUSAL = re.compile(
    r"(?i)(?:n['’]t|\b(?:not|never|no))(?: (?:yet|been|be|explicitly|have|has|given?|gave|any|the"
    r"|explicit))*"
    r" (?:approv|authori[sz]|permi(?:t|ss)|allow|consent|agree|accept|grant|okay|sign)\w*(?: off)?(?: by)?"
    r"(?! (?:\w+ ){0,3}(?:need|requir|necess))"
)
"""An approval that is said not to be there."""
NAMES_USER = re.compile(
    rf"\b{_PERSON}\b|\bapproved\b|\bapproval\b|" + "|".join(user for user, _, _ in _OTHERS), re.IGNORECASE
)
"""Whoever a sentence speaks about, if it does not just repeat words of theirs."""
FOREIGN = tuple(tuple(re.compile(each, re.IGNORECASE) for each in group) for group in _OTHERS)
ASCRIBING = re.compile(
    r"(?i)constraint|preference|requirement|\binstructions?\b|approv|standing rules|\bsaid by|\b(?:user"
    r"|human|customer)(?:['’]s)? (?:\w+ )?(?:request|message|wish|decision|rule|order|feedback)|vorgaben"
    r"|wünsche|contraintes|préférences|restricciones|preferencias|vincoli|preferenze|约束|偏好|制約|好み"
)
AIM = re.compile(
    r"(?i)\b(?:intent|goals?|objective|absicht|ziele?|but|objectif|objetivo|intención|obiettivo)\b|目标"
    r"|意图|目的"
)
