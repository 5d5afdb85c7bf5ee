"""The words by which somebody agrees, doubts, warns or takes back, and those that only speak of it."""

import re

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
