"""The words by which a summary ascribes something to the user; English first, then other languages."""

import re

from tui_app.context.user_text import words

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


# The words by which somebody agrees, doubts, warns or takes back, and those that only speak of it.

NODDING = re.compile(
    r"(?i)(?:that(?:['’]s| is)? (?:fine|good|great|ok(?:ay)?|right|correct|works?)(?: (?:for|with|to) me)?"
    r"|(?:looks|sounds) (?:good|great|fine|right)(?: to me)?|thank(?:s| you)(?: very much| a lot)?|please"
    r"|then|now|all of (?:it|them|that|those)|(?:with |for )?(?:it|that|this|them|everything|all|both)"
    r"|right away|as (?:proposed|planned|you (?:say|said|propose|suggest|like))|(?:for|to|with|by) me"
    r"|and|so|very"
    r"|bitte|danke|damit|alles|merci|s['’]il (?:te|vous) pla[iî]t|gracias|por favor|grazie|obrigad[oa])\b"
)
"""Words that add nothing to a yes."""
DOUBT = re.compile(
    r"(?i)\b(?:wait|hold on|hmm+|but|except|unless|until|if|maybe|perhaps|possibly|partly|partially|only"
    r"|first|second|third|former|latter|half|some|later|however|although|though|when|once|after"
    r"|provided|depends|whatever|tomorrow|tonight|ask me|remind me|morgen|demain|mañana|think about"
    r"|not sure|unsure|rather|instead|yet|aber|wenn|falls|vielleicht|erst"
    r"|später|warte|sofern|mais|si|peut-être|seulement|attends|pero|quizás?|solo|espera|si no|se|forse"
    r"|mas|talvez)\b|[?？]|如果|但|もし|만약"
)
"""Conditions, parts, delays and questions: with one of them a yes is not a whole one."""
WARNING = re.compile(
    r"(?i)\b(?:refrain\w*|beware|careful\w*|terrible|awful|dangerous|dangers?|risky|wrong to|bad idea"
    r"|mistake|disast\w*|catastroph\w*|fatal|horrible|insane|crazy|unacceptable|would (?:be|have|mean|break"
    r"|rewrite)|could (?:be|have|break)|might|what (?:if|happens)|supposed to|shame|regret\w*"
    r"|rather|revok\w*|withdr[ae]w\w*|rescind\w*|protest\w*|object to|opposed?|off[- ]limits|illegal"
    r"|prevent\w*|protect\w*|fear|afraid|worr\w*|hate|as if|suppose|imagine|if|unless|until|nobody|no one"
    r"|hör auf|auf keinen fall|vorsicht|gefährlich|schlimm|furchtbar|verboten|untersagt|falls|wenn"
    r"|würde|dangereu\w*|interdit\w*|serait|peligros\w*|prohibid\w*|sería|pericolos\w*|vietat\w*)\b"
)
"""What a clause says that names a deed without asking for it."""
QUESTION = re.compile(
    r"(?i)^[\W_]*(?:(?:so|and|but|stop|hey|ok|well|wait)\W+){0,3}(?:why|who|whom|whose|what|how|did"
    r"|does|is|are|was|were|has|have|warum|wieso|weshalb|hast|hat"
    r"|pourquoi|por qué|quién|perché)\b|[?？!]*[?？][!?？]*[\W_]*$"
)
POLITE = re.compile(
    r"(?i)^[\W_]*(?:(?:so|and|also|then|ok|yes|hi|hello|now)\W+){0,3}(?:please\b"
    r"|(?:can|could|would|will) (?:you|we)(?! (?:explain|tell|say|think|mind|be\b))"
    r"|let['’]?s|kannst du|können sie|könntest du|peux-tu|pouvez-vous"
    r"|puedes|podrías|puoi|potresti|pode)|[-–—,;:.] *(?:can|could|would|will) (?:you|we)\b"
    r"|\b(?:can|could|may) i (?:get|have)\b|\bplease\b|\bbitte\b"
)
"""Questions that ask for a deed."""
PRESERVES = re.compile(
    r"(?i)\b(?:keep\w*|kept|leave|left|avoid\w*|stop\w*|only|instead|remov\w*|delet\w*|drop\w*|hide|disabl\w*"
    r"|get rid|lass\w*|behalt\w*|nur|vermeid\w*|garde\w*|seulement|évite\w*|deja\w*|solo|evita\w*)\b"
)
"""Other ways to say that something is not to be."""
REVOKES = re.compile(
    r"(?i)\b(?:revok\w*|withdraw\w*|withdrew|rescind\w*|retract\w*|(?:take|took) (?:\w+ ){1,5}back"
    r"|changed? my mind|cancel (?:that|it|this)|forget (?:it|that)|never ?mind|no longer (?:approve|allow"
    r"|agree|permit|want)\w*|widerruf\w*|zieh\w* .{1,40} zurück|doch nicht|retire mon accord|révoque\w*"
    r"|revoco|retiro)\b|撤回|取り消"
)
HALTS = re.compile(r"(?i)^[\W_]*(?:(?:no|oh|actually|ok|please)\W+){0,3}(?:stop|wait|halt|hold on|cancel)\b")
TURNS_DOWN = re.compile(r"(?i)^[\W_]*(?:(?:oh|well|actually|hmm+|ach|doch)\W+){0,3}(?:no|nope|nein|non)\b")
PROPOSAL = re.compile(
    r"(?i)[?？]|\b(?:i(?:['’]d| would|['’]ll| will)|let me|propose|plan to|suggest|recommend|next)\b"
    r"|\b(?:ich würde|vorschlag|je propose|propongo)\b"
)
EITHER = re.compile(r"(?i)\b(?:or(?! not\b)|oder|ou|o bien|oppure)\b")
"""A question that a yes does not answer."""
OPENING = re.compile(
    r"(?i)^[\W_]*(?:(?:please|now|then|also|and|ok(?:ay)?|yes|yep|sure|so|just|next|finally|go ahead(?: and)?"
    r"|you (?:can|may|should|must|have to)|we (?:can|should|must|need to)|feel free to|let['’]?s"
    r"|i(?:['’]d| would) like (?:you )?to|i (?:want|need)(?: you)? to|(?:can|could|would|will) (?:you|we)"
    r"|make sure (?:to|you)|always|remember to|try to|bitte|ja|dann|und|du (?:kannst|darfst|sollst)"
    r"|s['’]il te plaît|oui|et|tu peux|por favor|sí|y|puedes)\b[\s,:–-]*)+"
)
"""What may stand before the verb of a directive."""
LEAVES = re.compile(
    r"(?i)\b(?:you (?:can|may|have my)|feel free|i(?:['’]m| am) (?:fine|ok|okay|happy) with|i (?:hereby )?"
    r"(?:agree|approve|confirm|allow|permit|authori[sz]e)|go ahead|approved|(?:is|are) (?:fine|ok(?:ay)?"
    r"|allowed|permitted)|du (?:kannst|darfst)|sie (?:können|dürfen)|tu peux|vous pouvez|puedes|puede"
    r"|puoi|pode|możesz)\b|可以|しても(?:いい|よい)|해도 (?:돼|됩)|同意|批准"
)
WANTS = re.compile(r"(?i)\bi (?:want|need|would like)\b|\bi['’]d like\b|\bich (?:möchte|will)\b|\bje veux\b")
PLACES = re.compile(
    r"(?i)\b(?:prod(?:uction)?|staging|main|master|develop(?:ment)?|dev|trunk|live|remote|local(?:ly|host)?"
    r"|test(?:ing)?|sandbox|upstream|origin|public|private)\b"
)
"""Names of places that never stand for one another."""
INSTEAD = re.compile(
    r"(?i)\b(?:instead of|rather than|in place of|over|anstatt"
    r"|anstelle von|statt|au lieu d[eu']|plutôt que|en lugar de|en vez de|invece di|em vez de)\b"
)
UNCHECKED = re.compile(
    r"(?i)(?:n['’]t|\b(?:no longer|not|never|no need|without|stop\w*|skip\w*|waiv\w*))\b[^.;]{0,40}?"
    r"\b(?:ask(?:ed|ing|s)?\b(?! (?:for|to) (?!approval|permission|confirm))|prompt(?:s|ed|ing)\b"
    r"|confirm(?:ation|ing)|approval|permission|consent|sign-?off)"
    r"|\bno (?:\w+ ){0,2}(?:confirmations?|approvals?|permissions?|consent|sign-?off) (?:(?:is|was|are"
    r"|will be|be) )?"
    r"(?:needed|required|requested|necessary)"
    r"|\b(?:approval|permission|confirmation|consent)\b[^.;]{0,30}?(?:n['’]t|\b(?:not|never"
    r"|no longer))\b[^.;]{0,12}?"
    r"\b(?:be )?(?:asked|needed|required|necessary|sought)"
)
"""A check that is not to take place: nobody need be asked."""
ABOUT = re.compile(
    r"(?i)\b(?:ask(?:ed|s)?|wonder(?:ed|s)?|question(?:ed|s)?|inquired?|want(?:ed|s)? to (?:know|understand)"
    r"|(?:ge)?fragte?)\b (?:\w+ ){0,3}?(?:whether|if|what|why|how|who|where|when|which|about|ob|warum|wie)\b"
)
"""The user is said to have asked a question, rather than for a deed."""
_RESTRICTS = re.compile(
    r"(?i)(?:n['’]t|\b(?:never|not|no|nothing))\b[^.;]{0,80}\b(?:without|unless|until|not\b"
    r"|before (?:\w+ ){0,3}(?:ask|approv|confirm|permission|consent))"
    r"|(?:n['’]t|\b(?:not|no|never))\b[^.;]{0,20}\b(?:give|given|gave|grant\w*|obtain\w*|receiv\w*|yet)\b"
)
VOCABULARY = re.compile(
    r"(?i)\b(?:pre-?|auto-?)?(?:approv\w*|authori[sz]\w*|consent\w*|permi(?:t|ts|tted|ssions?)|allow(?:s|ed)?"
    r"|grant(?:s|ed)?|accept(?:s|ed)?|agree[ds]?|confirm(?:s|ed)?|okay(?:ed|s)?|ok(?:['’]?d|s)?"
    r"|green-?(?: ?light(?:ed)?|lit)|thumbs[- ]up|go-ahead|go(?:es)? ahead|sign(?:s|ed)?[- ]?off"
    r"|blessing|clear(?:ed|ance)|no longer"
    r"|standing|explicit(?:ly)?|g[ai]ve[sn]?|obtained|received|exists?|whether|when asked|replied|answered"
    r"|respond(?:s|ed)|yes|lets?|fine|happy|waive[ds]?|with(?: the)? user(?:['’]s)?|you|told|developer"
    r"|operator|client|owner|maintainer|human|customer|user|freigabe|erteilt\w*|genehmig\w*|zugestimmt"
    r"|erlaub\w*"
    r"|einverstanden|autoris\w*|approuv\w*|accord|donné|aprob\w*|autoriz\w*|permiso)\b"
)
"""The words of giving leave themselves, which say nothing of what is allowed."""


_REACH = re.compile(
    r"(?i)\b(?:all|every\w*|any\w*|whatever|future|permanent\w*|blanket|always"
    r"|alle[sn]?|tou[ts]\w*|todo?s?)\b"
)


def reach(text: str) -> frozenset[str]:
    """How far a text goes, as it says: the places it names, and whether it speaks of all of a kind."""
    return places(text) | ({"all"} if _REACH.search(text) else frozenset())


def spares_asking(text: str) -> bool:
    """Whether a text says that somebody need not be asked; "never without asking" says the opposite."""
    return bool(UNCHECKED.search(text)) and not _RESTRICTS.search(text)


def is_question(sentence: str) -> bool:
    """Whether a sentence asks something rather than for a deed."""
    return bool(QUESTION.search(sentence)) and not POLITE.search(sentence)


def places(text: str) -> frozenset[str]:
    """The places that a text names, in small letters and without their longer forms."""
    short = {
        "production": "prod",
        "development": "dev",
        "develop": "dev",
        "testing": "test",
        "locally": "local",
    }
    found = (match[0].lower() for match in PLACES.finditer(text))
    return frozenset(short.get(name, name) for name in found)


# The words by which a message says yes or no, gives leave, or speaks of what cannot be taken back.

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
