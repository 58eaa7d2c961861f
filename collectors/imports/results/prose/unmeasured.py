"""Tells the figures that nobody measured: expected, wished, denied, of a limit, or published by others."""

from __future__ import annotations

import re
from functools import lru_cache

_NOT_MEASURED = re.compile(
    r"\b(?:(?<!as )expect(?:ed|ing|s)?|should|(?<!I )(?<!we )could(?! only)|would|target(?:s|ed|ing)?|goals?"
    r"|theoretical(?:ly)?|claim(?:s|ed)?|advertised|limit(?:ed|s)?|timeout|(?<!-)budget|threshold|margin|tolerance"
    r"|(?<!under )(?<!within )(?<!under the )(?<!within the )(?<!under this )(?<!within this )(?<!at this )sl[oa]s?"
    r"|require[sd]?|hop(?:e|ing)|predicted|bandwidth|interval|anything"
    r"|if|poll|sleep|audio|codec|frame rate|wait(?:s|ed)? for)\b"
    r"|(?:\bby(?: only| just| about)?|every|rises|rose|grows|grew"
    r"|faster|slower|another|extra|beyond(?: the)?|exceed\w*|adds?|added|adding|saves?|saved) $|多付?\s*$"
    r"|应该|應該|理应|理论|预期|预计|期望|目标|希望|想要|至少要"
    r"|\b(?:ceiling|roofline|bound) (?:is|of|drops|falls|goes)\b"
    r"|\b(?:mis)?(?:quot|cit)(?:e|es|ed|ing) (?:[\w'\u2019-]{1,20} ){0,6}as\b"  # what its author takes back
    r"|\b(?:wrongly|mistakenly|erroneously)\b|\bmis(?:read|stated|reported|quoted|labell?ed)\b"
    r"|\byour(?: (?:own|measured|reported|published|stated|posted|quoted|claimed))?\W{0,3}$"
    r"|\byour (?:video|post|numbers?|results?|report|figures?|table)\b"
    r"|\bin your (?:tests?|benchmarks?|case|post)\b",
    re.IGNORECASE,
)
# Of the whole sentence: a question, a wish, a condition, a calculation, what is true of people.
_HYPOTHETICAL = re.compile(
    r"\?\W*$|\b(?:want(?:s|ed)?|needs?|(?:is|are|be) needed|wish\w*|aim(?:s|ed|ing)?|must|might|(?-i:may)"
    r"|assum\w+|suppos\w+|imagine"
    r"|(?:fake|mock) (?:provider|server|backend|engine)"
    r"|hypothetical\w*|synthetic (?:fixtures?|numbers|results)|in theory|on paper|estimat\w+|calculat\w+|rumou?r\w*"
    r"|est(?=\. (?:from|based)|\.\))|would have been"
    r"|(?:rejected|discarded|dismissed) as (?:invalid|noise|noisy|outliers?|unreliable)"
    r"|tests? (?:pins?|asserts?|expects?)"
    r"|(?:you|one|they|people|users?) can(?! (?:see|tell|notice|find|confirm))|humans?)\b"
    r"|\b(?:(?:un)?acceptable|feels?|considered)\b"
    # '60 tok/s is OK for chats'
    r"|^\W*(?:(?:anything|everything) )?(?:below |under |above |over |around |about )?[~≈<>]?\d[\d.,]{0,9}"
    r"(?:[-–]\d{1,5})? ?"
    r"(?:t/s|tok(?:en)?s?/s(?:ec)?|tps|tokens per second|ms|s|seconds)(?: (?:and|or) (?:more|less|up|above|below)|\+)?"
    r" (?:is|are|seems?) (?:(?:already|still|just|really|very|quite|not|an?) ){0,2}"
    r"(?:too|ok(?:ay)?|fine|good|great|enough|usable|comfortable|readable|elite|slow|fast|acceptable|instant)\b"
    r"|^\W*an? .{0,40} of \S+ .{0,12}\b(?:is|means|makes|counts)\b",
    re.IGNORECASE,
)
_QUESTION_BEHIND = re.compile(  # 'I only get 20 tok/s, is that expected?'
    r"(?:,|\.{2,3}| [-\u2013\u2014]) ?(?:is|are|does|am|should|any|what|how|why|anyone|do|right|correct)\b"
    r"[^,;?\d]{0,80}\?\W{0,4}$",
    re.IGNORECASE,
)
_OF_ONESELF = re.compile(r"\b(?:I|we|my|our)\b", re.IGNORECASE)
_ASKED_WHY = re.compile(  # 'Why am I only getting 20 tok/s?'
    r"\W*(?:so |but |and )?why (?P<stated>(?:am I|do I|are we|do we|is my|is our|does my)\b[^?]{1,200})\?\W*",
    re.IGNORECASE,
)
_ASKS = re.compile(  # the whole is a question
    r"\W*(?:can|could|is|are|do|does|did|will|would|how|what|why|which|has|have|should|anyone)\b", re.IGNORECASE
)
_PUBLISHED = re.compile(  # by others, where it stands before a figure or in its clause
    r"\b(?:(?:widely|often|commonly)[- ](?:cited|quoted)|according to|headline numbers?|third[- ]party"
    r"|(?:the|this|your|official) (?:\w+ )?(?:docs?|document(?:ation)?|page|paper|readme|website|leaderboard)"
    r" (?:shows?|states?|says?|mention(?:s|ed)?|claims?|lists?)"
    r"|\b(?:is|are|was|were|been|being) (?:\w+ )?listed (?:at|as|with|under|for)"
    r"|leaderboards?(?:['\u2019]s)? (?:\w+ )?(?:says?|said|shows?|lists?|claims?|has|had|puts?|numbers?"
    r"|figures?|entr(?:y|ies))"
    r"|headlines? (?:claims?|figures?|says?|said)|advertised (?:at|as|with)"
    r"|(?<!summary )(?<!summaries )(?<!log )(?<!logs )(?<!server )(?<!bench )"
    r"(?<!benchmark )(?<!script )(?<!EvalScope )(?<!AIPerf )(?<!GuideLLM )"
    r"reported(?:ly)?(?! (?:in|by) (?:the (?:run|bench|log|server)|my|our)))\b"
    r"|(?:readme|官方|文档|教程|论文)[^\d,;。，；]{0,8}(?:给出|描述|说|写|宣称|标称|数据)"
    r"|@[\w-]{2,40} (?:observed|reported|measured|gets?|got)\b"
    r"|\b(?:Red Hat|NVIDIA|AMD|Intel|Google|Meta|LMSYS|MLPerf|Anyscale|Databricks|vendors?|others|the community)"
    r" (?:[\w-]+ ){0,5}(?:measured|measures|reports?|clocked|quotes?|lists?|publish\w*|states?)\b",
    re.IGNORECASE,
)
_OWN_AGAIN = re.compile(  # behind what others published: '..., but I get 45 tok/s', '45 tok/s by my own measurement'
    r"(?:[,;:\u2013\u2014]|\b(?:but|while|whereas|and|yet)) (?:[\w']+ ){0,2}?(?:I|we)"
    r" (?:only |actually |just |myself )?(?:get|got|measured?|see|saw|reach(?:ed)?|achieved?|hit|observed?)\b"
    r"|\b(?:my|our) own (?:\w+ )?(?:measurements?|tests?|runs?|results?|numbers?|benchmarks?)\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(  # before a figure, and thereby before those that are listed behind it
    r"\b(?:claim(?:s|ed)?|advertis(?:es?|ed|ing)|(?<!as )expect(?:ed|ing|s)?|targets?|goals?|theoretical(?:ly)?"
    r"|promis(?:es?|ed)|hop(?:e|ed|ing))\b",
    re.IGNORECASE,
)
_LISTED_FURTHER = re.compile(r"\s*(?:\([^()]{1,80}\)\s*)?(?:[^,;.:()\d]{0,40})(?:,? and|,? or|,|/)\s", re.IGNORECASE)
_CONTRAST = re.compile(
    r"\b(?:but|while|whereas|yet|however|only|actual(?:ly)?|real(?:ly|ity)?|measured?|instead|vs|versus|against|than|now|I|we|my"
    r"|ours?|mine|here|get|gets|got|saw|see|reach\w*|achiev\w*|hits?|ran|runs?|delivers?|gives?|gave|is|are|was|were)\b|[;→>]",
    re.IGNORECASE,
)
_CLAIM_BEHIND = re.compile(  # 'just a 63 tok/s claim'
    r"\s{0,3}(?:[\w-]{1,20} )?(?:claims?|headlines?|marketing|promises?|data ?sheets?|spec sheets?)\b", re.IGNORECASE
)
_LIMIT = re.compile(r"\b(?:sl[oa]s?|targets?|limits?|constraints?)\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"(?:比如|例如|假如|如果|假设|要是)[^。;；\n]{0,60}$")  # '比如我把并发数改成10,速度提升到100'
_DENIED = re.compile(
    r"(?:\bnot|\bnever|n['\u2019]t)(?:\W+\w+){0,3}\W*$|\bno longer(?:\W+\w+){0,4}\W*$"
    r"|\bno(?: (?:stable|sustained|real|clean|measured))? $",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|never|cannot)\b|n['\u2019]t\b", re.IGNORECASE)


@lru_cache(maxsize=64)  # asked for at every number of a sentence
def is_hypothetical(sentence: str) -> bool:
    """Return whether a sentence asks, wishes, assumes or calculates."""
    return _HYPOTHETICAL.search(_without_question(sentence)) is not None


def _without_question(sentence: str) -> str:
    """Return a sentence without the question that takes its figures as measured: 'I get 20 tok/s, is that ok?'."""
    if "?" not in sentence:
        return sentence
    if match := _ASKED_WHY.fullmatch(sentence):
        return match["stated"]
    match = None if _ASKS.match(sentence) else _QUESTION_BEHIND.search(sentence)
    return sentence[: match.start()] if match and _OF_ONESELF.search(sentence[: match.start()]) else sentence


def is_unmeasured(before: str, bound: str | None, sentence: str, position: int, clause_end: int) -> bool:
    """Return whether the words before a figure, or its sentence up to the end of its clause, say that it is no result.

    `bound`: 'min' or 'max' if the figure is one; `position`: where it ends in its sentence.
    """
    is_limit = bound == "max" and _LIMIT.search(sentence[:clause_end]) is not None
    is_denied = _DENIED.search(before) is not None or (bound == "min" and _NEGATED.search(sentence) is not None)
    is_denied = is_denied or is_limit or _SUPPOSED.search(sentence[:clause_end]) is not None
    is_claim = _CLAIM_BEHIND.match(sentence[:clause_end], position) is not None
    return is_denied or is_claim or _NOT_MEASURED.search(before) is not None or is_published(sentence[:clause_end])


def is_published(words: str) -> bool:
    """Return whether words up to a figure say that others published it, or a former one that no own figure follows."""
    end = max(_ends_of_publishers(words), default=None)
    return end is not None and _OWN_AGAIN.search(words, end) is None


def names_others(before: str) -> bool:
    """Return whether the words before a figure say that it is a claim or an aim, as those listed behind it are."""
    return _OF_OTHERS.search(before) is not None


def is_listed_further(words_between: str) -> bool:
    """Return whether a figure stands behind another as one more of the same kind: ' on A and ', without a verb."""
    return _LISTED_FURTHER.match(words_between) is not None and _CONTRAST.search(words_between) is None


@lru_cache(maxsize=64)  # asked for at every number of a sentence
def _ends_of_publishers(words: str) -> tuple[int, ...]:
    """Return where the words end that say that others published what follows."""
    return tuple(match.end() for match in _PUBLISHED.finditer(words))
