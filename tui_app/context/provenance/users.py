"""What a statement says of the user: what they asked for, decided, allowed, or hold as a rule."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tui_app.context.facts.observations import Reading, command_of, sentences
from tui_app.context.facts.rules import asks, retraction, rule_strength
from tui_app.context.provenance.statements import Statement, names_in
from tui_app.context.summaries.prompt import language_of
from tui_app.context.user_text import stems_of

_USER = re.compile(
    r"(?i)(?<![\w/-])(?:users?|humans?|customer|maintainer|owner|operator|client|developer|requester|boss"
    r"|nutzer(?:in)?"
    r"|benutzer(?:in)?|anwender(?:in)?|utilisat(?:eur|rice)|usuari[oa]|utente|gebruiker|użytkownik\w*"
    r"|пользовател\w*"
    r"|kullanıcı\w*|người dùng|användaren?|bruger\w*|käyttäjä\w*)(?!\w)|用户|使用者|ユーザー|ユーザ"
    r"|사용자|المستخدم|ผู้ใช้|उपयोगकर्ता"
)
_WILLS = re.compile(
    r"(?i)(?<![\w/-])(?:ask(?:ed|s)?|request(?:ed|s)?|want(?:ed|s)?|need(?:ed|s)?|would like|wish(?:ed"
    r"|es)?|instruct\w*"
    r"|told|tells|direct(?:ed|s)|demand\w*|deci\w+|cho(?:se|sen|oses|ice)|pick(?:ed|s)|select(?:ed|s)"
    r"|opt(?:ed|s)|prefer\w*"
    r"|insist\w*|specif\w+|sa(?:id|ys)|stat(?:ed|es)|suggest\w*|propos\w+|expect\w*|requir\w+|clarif\w+"
    r"|order(?:ed|s)"
    r"|stress\w*|emphasi\w+|confirm\w*|mention\w*|forb\w+|approv\w+|allow\w*|permi\w+|authori\w+|agree\w*"
    r"|accept\w*|consent\w*"
    r"|gr(?:ant\w*|anted)|gave|given|gives|trust\w*|repl\w+|answer\w*|respon\w+|wrote|rule[ds]?|goal"
    r"|intent\w*|task|is to|ok|okay"
    r"|happy|fine|signed? off|green[- ]li\w+|go-ahead|thumbs)(?!\w)|(?<=user)['’]s|^\W*user\W{1,3}"
)
_YOU = re.compile(
    r"(?i)(?<!\w)you (?:must|should|shall|have to|are to|need to|may|can|are free|are allowed)(?!\w)"
)
_LEAVE = re.compile(
    r"(?i)(?<![\w/])(?:(?:was|were|been|is) (?:given|granted)|(?:pre-?|auto-?)?approv(?:ed|al|es)"
    r"|auto-?(?:approv|accept|confirm|run)\w*"
    r"|authori[sz](?:ed|ation)|permission"
    r"|(?<!feel )free to"
    r"|(?:permitted|allowed)(?: to|\W*$)|consent(?:ed)?"
    r"|go-ahead|green[- ]li(?:t|ght\w*)|sign(?:ed)?[- ]off|clearance|cleared|without (?:asking|confirmation"
    r"|approval|permission)"
    r"|no (?:need to ask|confirmations?|approvals?)|(?:not|n['’]t|never) ask|skip (?:the )?confirmations?"
    r"|genehmig\w+|erlaub\w+|freigegeben|freigabe|zugestimmt|approuv\w+|autoris\w+|aprob\w+|aprov\w+"
    r"|autoriz\w+|acept[óa]\w*|permit\w+|approvat\w+|autorizzat\w+|разреш\w+|одобр\w+|соглас\w+"
    r"|дозвол\w+|схвал\w+|onayla\w+|izin|goedgekeurd\w*|toegestaan|akkoord|zatwierdz\w+|zezwol\w+"
    r"|pozwol\w+|zgodzi\w+|godkän\w+|tillåt\w+|menyetujui|disetujui|mengizinkan|đồng ý|cho phép)(?!\w)"
    r"|批准|允许|同意|許可|承認|了承|승인|허락|허용|동의|وافق|موافق|سمح|مسموح|أذن|אישר|הסכים|अनुमति|मंज़ूर|อนุมัติ|อนุญาต"
)
_UNGIVEN = re.compile(
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
_FREED = re.compile(
    rf"(?i)(?<!\w)(?:{_NO}(?:\w+\W+){{0,3}}?{_ASKING}"
    rf"|(?:without|ohne|sans|sin|senza|sem|zonder|без)\W+(?:\w+\W+){{0,3}}?(?:{_ASKING}|{_LEAVING})"
    rf"|{_NEEDING} no {_LEAVING}|{_NO}(?:\w+\W+){{0,2}}?{_NEEDING}\W+(?:\w+\W+){{0,3}}?{_LEAVING}"
    rf"|{_NO}{_LEAVING}\W+(?:\w+\W+){{0,2}}?{_NEEDING}"
    r"|(?:confirm|approv|permission|consent|prompt)\w*\W+(?:\w+\W+){0,3}?(?:skipp|disabl|off(?!\w)|waiv"
    r"|bypass"
    r"|unneeded|unnecess|dispens|superflu|optional))"
)
"""Says that nobody need be asked."""
_RESERVED = re.compile(
    r"(?i)(?<!\w)(?:needs?|requires?|unless|until|before|whether|if|once|only (?:with|after)|await\w*|wait\w*"
    r"|ask\w* (?:\w+ ){0,2}for|nur mit|erst nach|bevor|braucht|avant|faut|antes|necesita)(?!\w)[^.;]{0,40}$"
)
"""In front of a word of leave: it is still to be given."""
_PENDING = re.compile(
    r"(?i)^\w*(?: (?!given|granted|obtained|received)\w+){0,4} (?:not|needed|required|missing|outstanding"
    r"|pending|awaited|first)(?!\w)"
)
"""Behind a word of leave: the same."""
_FIRST = re.compile(
    r"(?i)(?<!\w)(?:must|ha(?:s|ve) to|needs? to|first|before|until|muss|zuerst|erst|doit|debe)(?!\w)"
)
"""Beside the user: something is up to them."""
_MAY = re.compile(
    r"(?i)(?<!\w)(?:may|can|darf|kann|peut|puede|può|pode|mag|может|можно)(?!\w)|可以|してよい|해도"
)
_MUST = re.compile(
    r"(?i)(?<!\w)(?:must|shall|(?:is|are) to|to be|muss|soll|doit|debe|deve|moet|должен)(?!\w)|必须"
)
_KEEPS = re.compile(
    r"(?i)(?<!\w)(?:stay|remain|keep|kept|leave|left|untouched|unchanged|read|bleib|lass|rest|laiss|qued"
    r"|deja|остав)\w*"
    r"|不动|保持|残"
)
_YES = re.compile(
    r"(?i)(?<![\w-])(?:yes|yep|yeah|sure|affirmative|agreed|oui|ja|sí|sim|da|да|так|tak|evet|hai)(?![\w-])"
    r"|はい|是的|同意|네\b|نعم|כן"
)
_ANSWERED = re.compile(
    r"(?i)(?<!\w)(?:answer|repl|respon|question|ask|sa(?:id|ys)|told|antwort|frage|sagte?|répon|dit|contest"
    r"|respond|dijo|dice|disse|ответ|сказал)\w*|回答|答え|대답|(?<!\w)A:"
)
_OUTWARD = re.compile(
    r"(?i)(?<![\w/-])(?:(?:force-?)?push|deploy|rebas|cherry-?pick|publish|releas|merg|commit|ship(?:ping|ped)|upload"
    r"|pay(?:ment)?)"
    r"(?:\w{0,4})(?![\w/-])"
)
"""What leaves the machine or the working copy: nobody may do it on the word of a summary."""
_ASKED = re.compile(
    r"(?i)(?<!\w)(?:ask|wait\w* for|tell|show|report to|confirm with|await\w*)\s+(?:the\s+|an?\s+)?$"
)
"""In front of the user: what they are still to be asked is none of their wishes."""
_AS_TOLD = re.compile(
    r"(?i)^\W*(?:per|according to|laut|gemäß|selon|según)(?!\w)"
    r"|^\W*(?:as|following|by|at|on)\s+(?:\w+(?:['’]s)?\s+){0,3}?"
    r"(?:instruct|request|order|demand|wish|behest|agree|told|ask|advis|arrang)\w*"
)
"""Does something on somebody's word, whoever that is."""
_THEY = re.compile(
    r"(?i)^\W*(?:they|she|he)(?:['’]re)? (?:would (?:rather|like|prefer)|wants?|wanted|asked|said"
    r"|prefer\w*|insist\w*|approved"
    r"|agreed|decided|are (?:fine|happy|ok)|fine|happy|ok|chose|told|gave)(?!\w)"
)
_DECIDED = re.compile(
    r"(?i)(?<!\w)(?:decided|decisions?|agreed|agreements?|chosen|chose|settled|opted|going with"
    r"|entschieden"
    r"|entscheidung\w*|geeinigt|beschlossen|décidé|décisions?|convenu|decidi\w+|decisi[óo]n\w*"
    r"|acord\w+)(?!\w)|决定|決定"
)
_RULED = re.compile(
    r"(?i)^\W*(?:\w+:\s+)?(?:(?:must|never|always|do not|don['’]t|niemals|immer|toujours|nunca|siempre|не"
    r"|никогда)(?!\w)|不要|必须|禁止)"
    r"|(?<!\w)(?:forbidden|prohibited|off[- ]limits|verboten|interdite?s?|prohibid[oa]s?)(?!\w)"
)
"""Commands, whoever laid it down."""
_INTENTS = re.compile(
    r"(?i)\bintent|\bgoal|request|\bask(?:ed|s)?\b|objective|absicht|ziel|auftrag|wunsch|objectif|demande"
    r"|objetivo|petici"
    r"|цель|запрос|задач|目标|请求|意图|目的|要望|依頼|의도|목표|요청|هدف|طلب"
)
"""Headings under which stands what the user wants."""
_NOT = re.compile(
    r"(?i)(?<!\w)(?:not|n['’]t|never|no|don['’]?t|avoid\w*|forbid\w*|forbad\w*|forbidden|prohibit\w*|stop"
    r"|refrain\w*|cannot|can['’]t|nothing"
    r"|nobody|nicht|kein\w*|nie|niemals|nichts|verboten|finger weg|hands off|ne|pas|jamais|aucune?|rien"
    r"|interdit\w*|nunca|jamás|prohibid[oa]s?"
    r"|ningun[oa]?|tampoco|non|mai|vietat[oa]|não|nem|niet|geen|nooit|inte|aldrig|ikke|aldri|nigdy|nie|не"
    r"|ни|никогда|нельзя"
    r"|запрещ\w+|değil|asla|yasak|không|đừng|cấm)(?!\w)|n['’]t\b|(?<=\w)n['’]t|不|别|勿|没有|禁止|ない"
    r"|ません|ず\b|禁|않|마세요|말고|말아|금지|안 |لا |لن |ممنوع|إياك"
    r"|ไม่|อย่า|ห้าม|मत|नहीं|לא |אל |אסור"
)
_WITHOUT = re.compile(
    r"(?i)(?<!\w)(?:without|ohne|sans|sin|senza|sem|zonder|utan|uden|uten|bez|без|olmadan)(?!\w)|没有"
    r"|なし|없이|بدون|ללא|बिना|โดยไม่"
)
_VOID = re.compile(
    r"(?i)(?<!\w)(?:lift(?:ed|s)?|withdr\w+|cancel\w*|revok\w+|no longer"
    r"|(?:not|n['’]t) (?:hold|apply|count|valid)"
    r"|any ?more|t(?:ook|aken?) (?:it |this |that )?back|overrul\w+|dropped|void\w*|rescind\w*|retract\w*"
    r"|repeal\w*"
    r"|waiv\w+|relax\w*|abandon\w*|scrapp\w+|obsolete|outdated|superseded|disregard\w*|revers\w+"
    r"|(?:can|may|could|should|to) ignore|moot|off the table"
    r"|does(?: not|n['’]t) matter|no need to follow"
    r"|reconsider\w*"
    r"|chang\w+ (?:their|his|her) minds?|mind has changed|the opposite|contrary|no longer wanted"
    r"|aufgehoben|hebt \w+ auf|zurückgenommen|widerrufen|verworfen|gestrichen|hinfällig|gilt nicht|nicht mehr"
    r"|meinung geändert|gegenteil|annul\w*|lev(?:ée?s?|é)|retir\w+|abrog\w*|renonc\w*|chang\w+ d['’]avis"
    r"|contraire"
    r"|anul\w+|revoc\w*|revog\w*|deja de|ya no|lo contrario|opinión|ritirat\w*|отмен\w+|отозв\w+|передумал\w*"
    r"|больше не|снял\w*|скасу\w+|відклик\w+|anulowa\w*|cofn\w+|wycof\w+|ingetrokken|geannuleerd|opgeheven"
    r"|upphäv\w*|tillbaka|iptal|vazgeç\w*|kaldır\w*|hủy|bãi bỏ|rút lại)(?!\w)"
    r"|取消|撤回|撤销|作废|废除|收回|不再|改变主意|取り消|取りやめ|廃止|철회|취소|폐지|ألغى|إلغاء|سحب|تراجع|ביטל|ยกเลิก|रद्द"
)
_GRAVE = re.compile(
    r"(?i)(?<![\w/-])(?:delet\w*|remov\w*|drop\w*|wip(?:e|ed|ing)|eras\w*|destroy\w*|purg\w*|overwr\w*"
    r"|push\w*|deploy\w*"
    r"|publish\w*|releas\w*|merg\w*|disabl\w*|skip\w*|bypass\w*|pay|paid|send|sent|lösch\w*|entfern\w*"
    r"|veröffentlich\w*"
    r"|supprim\w*|effac\w*|publi\w+|borr\w+|elimin\w+|удал\w+|стер\w+|опублик\w+)(?!\w)|删除|清空|发布"
    r"|部署|推送|削除|公開|삭제|배포|حذف"
)
"""What cannot be undone: it must have been named, not only what it is done to."""
_CLAUSE = re.compile(r"[^,.;:()]*")
_QUOTE = re.compile(r"[\"“„«]([^\"”“»\n]{8,400})[\"”“»]")
_NAMED = re.compile(r"`|\w[./_]\w|\d")
_HANDLE = re.compile(r"\(?#-?\d{1,12}\)?:?")
_ONE, _ALL, _LAID_DOWN, _MOST = 0.4, 0.75, 0.5, 0.6
"""Share of a statement's words that one message must hold, all of them together, one for a rule, and one for
what cannot be undone."""
_SHORT = 12
"""Words of an answer that says little without the question before it."""
_QUESTION = 1_500
"""Characters at the end of the assistant's message that an answer may refer to."""
_LEAST_RULE = 12
"""Characters from which on a sentence of the user's is known in a statement."""
FOREIGN = re.compile(r"[\u0370-\u1fff\u3040-\ud7ff]")
"""Letters of other scripts than the Latin one."""
_SAME = 0.7
"""Share of the words of a rule that a statement about it holds."""
_HALF, _HEADING = 0.5, 60
_FEW = 3


@dataclass(frozen=True, slots=True)
class Sentence:
    """Something the user laid down."""

    text: str
    stems: frozenset[str]
    denies: bool
    excludes: bool


class UserEvidence:
    """What the user said, made ready for comparing.

    Args:
        reading: The whole session.
        beside: Texts of the user's that stand beside it, such as instructions.
    """

    def __init__(self, reading: Reading, beside: Sequence[str] = ()) -> None:
        self.reading, self.beside = reading, beside

    @cached_property
    def utterances(self) -> list[frozenset[str]]:
        """The telling words of each message; of a short answer those of the question before it too."""
        found: list[frozenset[str]] = []
        spoken = iter([*self.reading.spoken, None])
        following, before = next(spoken), ""
        for typed in self.reading.typed:
            while following is not None and following.index < typed.index:
                before, following = following.text, next(spoken)
            stems = stems_of(typed.text)
            if len(typed.text.split()) <= _SHORT:
                stems |= stems_of(before[-_QUESTION:])
            found.append(stems)
        return [*found, *map(stems_of, self.beside)]

    @cached_property
    def granted(self) -> list[frozenset[str]]:
        """The telling words of all by which leave may have been given: no questions, no prohibitions."""
        answers = [
            stems
            for stems, typed in zip(self.utterances, self.reading.typed, strict=False)
            if len(typed.text.split()) <= _SHORT and not (_NOT.search(typed.text) or asks(typed.text))
        ]
        return [*answers, *(each.stems for each in self.laid_down if not (each.denies or each.excludes))]

    @cached_property
    def everyone(self) -> list[frozenset[str]]:
        """The telling words of each sentence, the assistant's too."""
        spoken = (sentence for said in self.reading.spoken for sentence in sentences(said.text))
        return [*self.utterances, *(rule.stems for rule in self.laid_down), *map(stems_of, spoken)]

    @cached_property
    def acted(self) -> frozenset[str]:
        """The telling words of the commands that were run and the tools that were used."""
        lines = dict.fromkeys(command_of(action) or action.tool for action in self.reading.actions)
        return frozenset().union(*map(stems_of, lines))

    @cached_property
    def every(self) -> frozenset[str]:
        """The telling words of all messages."""
        return frozenset().union(*self.utterances)

    @cached_property
    def says_grave(self) -> bool:
        """Whether the user spoke at all of what cannot be undone, in whatever language."""
        return any(_GRAVE.search(said.text) for said in self.reading.typed)

    @cached_property
    def denies(self) -> bool:
        """Whether they ruled anything out."""
        return any(rule.denies for rule in self.laid_down)

    @cached_property
    def may_have_consented(self) -> bool:
        """Whether they used any word of leave, or answered shortly."""
        return any(_LEAVE.search(said.text) or len(said.text.split()) <= _FEW for said in self.reading.typed)

    @cached_property
    def language(self) -> str:
        """The language that most of it is in; empty where that cannot be told."""
        return language_of(said.text for said in self.reading.typed)

    def takes_back(self, rule: str) -> bool:
        """Whether any other sentence may take a rule back: it says so, or shares words with it."""
        stems = stems_of(rule)
        return any(
            plainly == 2 or len(sentence.stems & stems) >= 2
            for sentence in self.laid_down
            if (plainly := retraction(sentence.text)) and rule not in flat(sentence.text)
        )

    @cached_property
    def laid_down(self) -> list[Sentence]:
        """The sentences that state or ask something; questions are left out."""
        found: list[Sentence] = []
        for text in (*(said.text for said in self.reading.typed), *self.beside):
            for sentence in sentences(text):
                stems = stems_of(sentence)
                if len(stems) >= 2 and not asks(sentence):
                    found.append(Sentence(sentence, stems - _STEERING, *polarity(sentence)))
        return found

    @cached_property
    def _flat(self) -> list[str]:
        said = (*self.reading.typed, *self.reading.spoken)
        return [flat(text) for text in (*(each.text for each in said), *self.beside)]

    def quotes(self, text: str) -> bool:
        """Whether somebody wrote this, word for word."""
        wanted = flat(text.rstrip(".!?…,"))
        return any(wanted in one for one in self._flat)


def polarity(text: str) -> tuple[bool, bool]:
    """Whether a sentence forbids, and whether it rules something out or makes it depend on leave."""
    if not frees(text) and any(map(_is_reserved, _LEAVE.finditer(text))):
        return True, True  # to need leave is not to do it without
    return bool(_NOT.search(text)), bool(_WITHOUT.search(text))


def frees(text: str) -> bool:
    """Whether a sentence says that nobody need be asked."""
    return any(
        not (_WITHOUT.match(match[0]) and _NOT.search(text[: match.start()]))
        for match in _FREED.finditer(text)
    )


def _is_reserved(leave: re.Match[str]) -> bool:
    """Whether leave is still to be given, or is not."""
    before, behind = leave.string[: leave.start()], leave.string[leave.end() :]
    return any((_UNGIVEN.search(before), _RESERVED.search(before), _PENDING.match(behind)))


def flat(text: str) -> str:
    """A text in small letters on one line."""
    return " ".join(text.casefold().split())


_STEERING = stems_of(
    "always never must should shall please dont cannot immer niemals toujours jamais siempre nunca"
)
"""Words that steer, whatever it is about."""
OWN = stems_of(
    "user users assistant session conversation summary request requested message wants asked said rule "
    "constraint use used using make made get do done none nothing"
)
"""Words that tell nothing of what a summary is about."""


def wish_is_unknown(statement: Statement, bare: str, user: UserEvidence) -> bool:
    """Whether a statement ascribes to the user what no message supports, or turns a rule of theirs round."""
    text = _HANDLE.sub(" ", statement.text)
    if _turns_round(text, user):
        return True
    if _voids(text, bare, statement, user):
        return True
    named = _names_user(bare) or _AS_TOLD.match(bare) is not None
    given = [not _is_reserved(match) for match in _LEAVE.finditer(bare)]
    agreed = bool(_YES.search(bare)) and bool(_ANSWERED.search(bare) or _OUTWARD.search(bare))
    leaves = any(given) or frees(bare) or agreed
    listed = bool(_USER.search(statement.label) and _WILLS.search(statement.label))
    laid_down = listed or _of_user(statement.heading)
    wants = bool(_INTENTS.search(statement.heading))
    if not (named or leaves or laid_down or wants or _YOU.search(bare)):
        return _is_unheard(text, f"{bare} {statement.heading}", user)
    quotes = [quote for quote in _QUOTE.findall(text) if len(quote.split()) >= _FEW]
    if (named or laid_down) and quotes:
        return not all(map(user.quotes, quotes))
    wanted = stems_of(_USER.sub(" ", _WILLS.sub(" ", _LEAVE.sub(" ", text)))) - OWN
    little = wants and not (named or leaves or laid_down) and not _GRAVE.search(bare)
    if len(wanted) < _FEW and (little or (given and not leaves)):
        return False
    if not wanted or not _comparable(text, user):
        grave = bool(_GRAVE.search(bare)) and not user.says_grave
        unheard = grave and (named or bool(_YOU.search(bare)))
        unheard |= leaves and not user.may_have_consented
        unheard |= (laid_down or named) and bool(_NOT.search(bare)) and not user.denies
        return unheard or (leaves and (named or not wanted) and not _NAMED.search(text))
    needed = _ALL if leaves or _YOU.search(bare) else _LAID_DOWN if laid_down and not named else _ONE
    needed = max(needed, _MOST if _GRAVE.search(bare) else 0)
    grave = any(stems_of(deed) - user.every for deed in _GRAVE.findall(bare))
    if grave or (leaves and _is_forbidden(wanted, user)):
        return True
    # Names have been looked up already: beside them, or without them, the words must be somebody's.
    plain = wanted & stems_of(bare)
    ruled = bool(_RULED.search(text))
    heard = [rule.stems for rule in user.laid_down] if ruled else user.granted if leaves else user.utterances
    for words in (wanted, plain if plain and not leaves else wanted):
        if max((len(words & said) for said in heard), default=0) >= needed * len(words):
            return False
    return leaves or ruled or len(wanted & user.every) < _ALL * len(wanted)


def speaks_for_user(statement: Statement, bare: str, user: UserEvidence) -> bool:
    """Whether a statement gives leave, or says what the user wants, and nobody in the session spoke so.

    A file or a result may hold the same words: they are somebody else's.
    """
    if user.quotes(statement.text):
        return False
    above = f"{statement.label} {statement.heading}"
    given = any(not _is_reserved(match) for match in _LEAVE.finditer(bare)) or frees(bare)
    told = (_YES, _MAY, _YOU, _DECIDED)
    theirs = bool(_USER.search(above) and _WILLS.search(above)) or bool(_INTENTS.search(above))
    return (
        given
        or theirs
        or any(pattern.search(bare) for pattern in told)
        or bool(_DECIDED.search(above) or _AS_TOLD.match(bare))
        or _names_user(bare)
    )


def without_quotes(bare: str, user: UserEvidence) -> str:
    """A statement with each quotation blanked that somebody really wrote; nothing else moves."""
    return _QUOTE.sub(lambda match: " " * len(match[0]) if user.quotes(match[1]) else match[0], bare)


def goes_too_far(statement: Statement, bare: str, user: UserEvidence) -> bool:
    """Whether a statement tells of what may be done, or leaves the machine, and nobody spoke of."""
    acts = [stem for act in _OUTWARD.findall(bare) for stem in stems_of(act)]
    told = stems_of(_MAY.sub(" ", bare)) - OWN
    if (
        told
        and _MAY.search(bare)
        and all(len(told & said) < _LAID_DOWN * len(told) for said in user.everyone)
    ):
        return True
    denied = polarity(bare)[0] and not frees(bare)
    denied |= bool(_USER.search(bare) and _FIRST.search(bare))
    if not acts or denied or all(act in user.acted for act in acts):
        return False
    wanted = stems_of(statement.text) - OWN
    heard = any(act in stems for act in acts for stems in user.granted)
    return not heard and all(len(wanted & said) < _ALL * len(wanted) for said in user.everyone)


def _names_user(bare: str) -> bool:
    """Whether a statement says of the user, and not to them, that they want something."""
    users = [match for match in _USER.finditer(bare) if not _ASKED.search(bare[: match.start()])]
    wills = bool(_WILLS.search(bare)) or not bare.isascii()
    return bool(_THEY.search(bare)) or (bool(users) and wills)


def _is_unheard(text: str, said: str, user: UserEvidence) -> bool:
    """Whether a statement tells a decision or a rule of which nobody has spoken."""
    ruled = bool(_RULED.search(text))
    decided = any(not _UNGIVEN.search(said[: match.start()]) for match in _DECIDED.finditer(said))
    if not _comparable(text, user):
        return ruled and not any(rule_strength(rule.text) == 2 for rule in user.laid_down)
    wanted = stems_of(_DECIDED.sub(" ", _RULED.sub(" ", text))) - OWN
    if not (ruled or decided) or not wanted:
        return False
    nearest = max((len(wanted & words) for words in user.everyone), default=0)
    return nearest < _LAID_DOWN * len(wanted)


def _voids(text: str, bare: str, statement: Statement, user: UserEvidence) -> bool:
    """Whether a statement says that a rule of the user's holds no more, where they took none back."""
    whole = flat(text)
    rules = [flat(rule.text.rstrip(".!… ")) for rule in user.laid_down if len(rule.text) >= _LEAST_RULE]
    held = next((rule for rule in rules if rule in whole), "")
    quotes = [quote for quote in _QUOTE.findall(text) if len(quote.split()) >= _FEW and user.quotes(quote)]
    if not (held or quotes) or user.takes_back(held or flat(quotes[0])):
        return False
    about = whole.replace(held, " ") if held else flat(_QUOTE.sub(" ", bare))
    return bool(_VOID.search(about) or _VOID.search(f"{statement.label} {statement.heading}"))


def _is_forbidden(wanted: frozenset[str], user: UserEvidence) -> bool:
    """Whether what comes nearest among the user's sentences is a prohibition."""
    nearest = max((len(wanted & sentence.stems) for sentence in user.laid_down), default=0)
    return nearest > 0 and all(
        sentence.denies for sentence in user.laid_down if len(wanted & sentence.stems) == nearest
    )


def _of_user(heading: str) -> bool:
    """Whether a heading says that what follows is the user's."""
    return len(heading) <= _HEADING and bool(_USER.search(heading) and _WILLS.search(heading))


def _comparable(text: str, user: UserEvidence) -> bool:
    """Whether a statement and the user's words are in one language; across two, words prove nothing."""
    ours = language_of([text])
    return not user.language or not ours or ours == user.language


def _turns_round(text: str, user: UserEvidence) -> bool:
    """Whether a statement says the opposite of what the user laid down."""
    wanted = stems_of(text) - _STEERING
    steers = rule_strength(text) > 0
    if len(wanted) < 2:
        return False
    denies, excludes = polarity(text)
    denied = [stems_of(_CLAUSE.match(text, match.end())[0]) for match in _NOT.finditer(text)]  # type: ignore[index]
    paths = {name.text for name in names_in(text) if name.is_path}
    for rule in user.laid_down:
        named = not denies and rule.denies and any(path in rule.text for path in paths)
        if named and (_MAY.search(text) or _MUST.search(text)) and not _KEEPS.search(text):
            return True
        # Of ``tabs, not spaces`` only the spaces are denied.
        apart = denies and denied and all(stems and not stems & rule.stems for stems in denied)
        if (denies and not apart, excludes) == (rule.denies, rule.excludes) or not (rule.denies or denies):
            continue
        if rule.text.isascii() and not (rule_strength(rule.text) or steers):
            continue
        about = rule.stems - OWN or rule.stems
        shared = len(about & wanted)
        if shared >= max(2, _SAME * len(about), _HALF * len(wanted)) and rule.text not in text:
            return True
    return False
