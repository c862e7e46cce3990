"""Which sentences ask the driver something: rules on English wording, and question marks anywhere else.

A sentence comes as a mask (see `gateway.prose`): what is quoted or code is only x's in it.
"""

import re


def _anywhere(*wordings: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(wordings)})", re.IGNORECASE)


def _at_start(*wordings: str, after: str = "") -> re.Pattern[str]:
    return re.compile(rf"^(?:{after})?(?:{'|'.join(wordings)})", re.IGNORECASE)


_IS_QUESTION = re.compile(r"[?？؟]\s*[)\]\"'»”*_]*\s*$")

_CLOSER = _anywhere(
    r"let me know how (?:it|that|things|this)\b",
    r"let me know if (?!(?:you|that|this|it)\b)",
    r"let me know if (?:that|this|it) (?!(?:is|works|sounds|looks) (?:ok|okay|fine|good|right|acceptable))",
    r"let me know if you(?:'d| would)? (?:need|like|want|have|see|notice|find|spot)(?! me\b| to\b| us\b)",
    r"let me know if you (?:ever|run|hit|encounter)",
    r"feel free",
    r"if (?:anything|something) (?:is|else|looks|breaks)",
    r"don't hesitate",
    r"any (?:other|further|more) questions",
    r"no questions",
    r"(?:happy|glad) to help",
    r"anything else(?: (?:i can|you)[^?]*)?\W*$",
    r"^(?:any )?questions\?$",
)

_NEEDLESS = _anywhere(
    r"no (?:longer )?(?:need|action|input|answer|reply|decision|confirmation|approval)\b",
    r"nothing (?:\w+ )?(?:is |to )?(?:needed|required|do|waiting|open|blocked)\b",
    r"(?:\w+n't|not) (?:need|require|wait)\w*",
    r"never needs?\b",
    r"needs nothing",
    r"without (?:needing |waiting for )?your\b",
    r"please (?:note|see|find|keep in mind|be aware)\b",
)

_DEEDS = (
    r"confirm|choose|pick|decide|select|log (?:back )?in|provide|specify|tell|let me|approve|advise|answer"
    r"|clarify|share|paste|send|give|reply|respond|point|indicate|accept|grant|allow|supply|say|unlock|enter"
    r"|review and|run .* and|check .* and"
)

_REQUEST = _anywhere(
    r"let me know (?:which|what|whether|who|your|and i|so i)\b",
    r"let me know how (?:you|to|i|many|much|long|often|far|should)\b",
    r"let me know (?:when|where) (?:you|to|i|it|that|this|the)\b",
    r"let me know if (?:you|that|this|it)\b",
    r"tell me (?:which|what|when|how|where|whether|who|if|to|and|once|your|the|go)\b",
    r"a?waiting (?:for|on) (?:you|your|the go|an? (?:answer|decision|approval|go))\b",
    r"awaiting (?:your|an?|approval|confirmation)\b",
    r"needs? (?:your|you to|a (?:decision|yes|go-ahead)|an (?:answer|approval))\b",
    r"i(?:'d| would)? (?:still |just |only |first )?(?:need|require|want|like)(?: \w+){0,8} from you\b",
    r"i need (?:to know|an? (?:answer|decision|yes)|(?:one|two|three|a few|some) things?|something)\b",
    r"i(?:'d| would) like (?:your|to know|you to)\b",
    r"(?:reply|respond|answer|come back) (?:with|either)\b",
    r"(?:just |simply )?(?:say|type|write) (?:yes|go|no|stop|when|which|the word|x{2,}|so and i)\b",
    r"(?:confirm|approve|agree) (?:and|so) (?:i|we)\b",
    rf"please (?:{_DEEDS})\b",
    r"point me (?:at|to)\b",
    r"up to you\b",
    r"your (?:call|choice|decision|turn|move)\b(?! (?:was|is|were|to)\b)",
    r"over to you\b",
    r"which (?:one )?(?:you|would you|do you) (?:prefer|want|like|need)\b",
    r"once (?:you|you have|i have (?:a|your)) (?:confirm|approv|decide|agree|choose|answer|repl|go|ok)",
    r"give me (?:the (?:go|word|green)|a (?:go|yes|sign|number|name))\b",
    r"before i (?:go|continue|proceed|start|merge|move|carry|touch|delete|push|run)\b[^.]*\bneed\b",
    r"(?:blocked|stuck|paused|holding|stopped|parked) (?:here )?(?:on|until|till|for) your?\b",
    r"i(?:'ll| will| am|'m) (?:wait|hold|holding|pause|standing by)(?: off| here)? "
    r"(?:for|until|till) (?:you|your|an?|the)\b",
    r"if (?:you agree|you approve|this is what you want|that works)\b",
    r"if that(?:'s| is) (?:ok|okay|fine)\b",
)
_CHOOSE = re.compile(
    r"(?:^|[,;:–—-] )(?:(?:please|just|then|so|and|now) )*"
    r"(?:pick|choose|select) (?:one|either|which|an?|between|from|the one)\b",
    re.IGNORECASE,
)
_IMPERATIVE = _at_start(
    r"confirm (?:that|whether|if|the|this|it)\b",
    r"approve (?:it|this|the)\b",
    r"decide (?:whether|which|if|between)\b",
    r"(?:choose|specify|tell me)\b",
    after=r"please ",
)
_REQUEST_CHINESE = re.compile("请(?:您)?(?:告诉|选择|确认|回复|提供|决定|说明)")

_LINKING = r"(?:so|and|now|then|also|but|or) "
_UNMISTAKABLE = _at_start(
    r"do you (?:want|prefer)\b",
    r"would you (?:like|prefer|rather)\b",
    r"want me to\b",
    r"(?:shall (?:i|we)|should i)\b",
    after=_LINKING,
)
_UNMARKED = _at_start(
    r"(?:do you (?:want|need|prefer|wish|have|know)|would you (?:like|prefer|rather|mind))\b",
    r"(?:want me to|shall (?:i|we)|should (?:i|we)|may i|can (?:i|we|you)|could you)\b",
    r"(?:ok(?:ay)? (?:to|if)|ready to)\b",
    r"is it (?:ok|okay|fine|all right)\b",
    r"are you (?:ok|okay|happy|sure|fine)\b",
    r"which (?:one|of|way|do|should|would|option|branch|version)\b",
    r"(?:what (?:should|shall|would you|do you)|where should|how (?:should|do you want))\b",
    r"any (?:preference|objections?|thoughts|wishes)\b",
    after=_LINKING,
)
_CONDITIONAL = _at_start(
    r"should you (?:ever|want|need|wish|find|see|run|hit|prefer|decide)\b",
    r"would you believe\b",
    r"if you(?:'d| would)? like\b",
)

_RHETORICAL = _at_start(
    r"why\b",
    r"what (?:could|went|happened|changed|did|was|is|broke|caused|about|else|does|remains|now)\b",
    r"what's\b",
    r"how (?:did|come|does|was|is|do (?:we|i|they|you))\b",
    r"(?:so what|the \w+|who|sound familiar|result|and|remember|guess what)\b",
    r"(?:did (?:it|the|that|they)|(?:does|is|was) (?:it|that))\b",
    after=r"(?:so|and|but|now) ",
)
_ELLIPSIS = _at_start(r"(?:the \w+(?: \w+)?|result|outcome|guess what|so what)\?")
_ANSWERS = _at_start(
    r"(?:because|since|nothing|none|nobody|yes|no|not|that|the|this|an?|two|one|only|mostly|both)\b",
    r"it (?:was|is|had|turned|now|turns|does|did)\b",
    r"(?:they|there|simple|easy|in short|turns out|just|we|via|through|with|by \w+ing)\b",
    r"i (?:renewed|fixed|changed|added|removed|moved|found|made|did|took|used)\b",
)
_STILL_OPEN = _at_start(
    r"i (?:could(?:n't| not)|can(?:'t|not)|do(?:n't| not)|did(?:n't| not)|found no|need|see no)\b"
)
_ADVERTISES = _at_start(r"(?:want to|need (?:more|to|a|the)|curious|wondering|looking for|interested)\b")
_POINTS_ON = _at_start(
    r"(?:run|see|open|try|use|check|set|just|read|look|start|it is|type|have a look|visit)\b"
)


def asks(sentence: str) -> bool:
    """This sentence by itself asks for something."""
    if _CLOSER.search(sentence):
        return False
    if _IS_QUESTION.search(sentence):
        return True
    is_request = any(rule.search(sentence) for rule in (_REQUEST, _CHOOSE, _IMPERATIVE))
    if is_request and not _NEEDLESS.search(sentence):
        return True
    if _REQUEST_CHINESE.search(sentence):
        return True
    if _CONDITIONAL.match(sentence):
        return False
    is_closed = sentence.rstrip().endswith((".", "!", "。"))
    return bool((_UNMISTAKABLE if is_closed else _UNMARKED).match(sentence))


def is_answered(question: str, following: str) -> bool:
    """The next sentence answers this question itself: it was put to nobody."""
    if _ADVERTISES.match(question):
        return bool(_POINTS_ON.match(following))
    if not _RHETORICAL.match(question) or _STILL_OPEN.match(following):
        return False
    return bool(_ELLIPSIS.match(question) or _ANSWERS.match(following))
