"""Says what the head of a column states beside a metric: a level of load, a length, a count, a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from collectors.imports.results.prose.metric_names import words
from collectors.imports.results.prose.number_text import StatedNumber, has_no_value
from collectors.imports.results.prose.shared_columns import TIGHT, split_parts
from collectors.imports.results.prose.units import RATES, pattern_of, unit_in, unit_of_latencies

CONCURRENCY_HEAD = words(
    r"併發數?|并发数?|(?:max(?:imum)? |real |num(?:ber of)? |# ?|n[ _])?(?:requests? )?"
    r"(?:conc(?:ur(?:rent|rency|rence)?)?\.?|parallel(?:ism)?)"
    r"(?: (?:requests?|reqs?|users?|streams?|clients?|sessions?|workers?|level|slots?))?"
    r"|(?:# ?|n |num(?:ber of)? |virtual )?(?:users|streams|clients|sessions)|in[- ]flight(?: requests)?|c|np|vus?"
)
PROMPT_HEAD = words(
    r"isl|(?:avg |mean |random |actual |num |n )?(?:input|prompt|prefill|in(?=len)) ?(?:seq(?:uence)? )?"
    r"(?:len|length|size|tokens|toks?)(?: \(tokens\))?|tok(?:en)?s? (?:prompt|input|in)|输入长度|輸入長度|input"
)
OUTPUT_HEAD = words(
    r"osl|(?:avg |mean |random |actual |num |n )?(?:output|completion|gen(?:eration)?|decode|out(?=len))"
    r" ?(?:seq(?:uence)? )?(?:len|length|size|tokens|toks?)(?: \(tokens\))?"
    r"|max(?: new)? tokens|gen(?:erated)? tok(?:en)?s?"
    r"|tok(?:en)?s? (?:output|completion|generated|out)"
    r"|输出长度|輸出長度|output"
)
DEPTH_HEAD = words(
    r"(?:kv |context |ctx |n[ _]|prefill )?depth(?: \(tokens\))?|n[ _]kv|d|kv(?: cache)? (?:len|length|tokens)"
)
PROMPT_TEST_HEAD, OUTPUT_TEST_HEAD = (  # lengths beside columns of speeds, else the speeds of such tests
    words(rf"(?:(?:prompt|generat(?:e|ion|ed)|input|output) )?\(?{test}(?: \(?tokens\)?)?\)?") for test in ("pp", "tg")
)
LEVEL_HEADS = (CONCURRENCY_HEAD, PROMPT_HEAD, OUTPUT_HEAD, DEPTH_HEAD)
LENGTH_HEAD = words(  # of plain numbers that are no results, whatever the row measures
    rf"(?=.*(?:tok|len|size|isl|osl|conc|parallel|users|clients|streams|depth))"
    rf"(?:{'|'.join(head.pattern for head in LEVEL_HEADS)})"
)
RATE_HEAD = words(r"(?:target |configured |request |sent )?(?:qps|rps|request rate(?: \((?:req/s|rps|qps)\))?)")
LENGTHS_HEAD = words(r"(?:isl ?[/×x,+] ?osl|in(?:put)? ?[/×x,+] ?out(?:put)?)(?: (?:tokens|len(?:gth)?|lengths))?")
LATENCY_HEAD = words(r"\b(?:ttft|tpot|itl|tbt|e2el?|latency|first token)\b|时延|時延|延迟|延遲|首 ?(?:token|字|词)")
SPEED_HEAD = words(
    r"(?:prefill|prompt|input|decod(?:e|ing)|generation|output|total) (?:speed|throughput|rate)"
    r"|prefill|decod(?:e|ing)|generation|aggregate"
    r"|per[- ](?:stream|user|request)(?: (?:decode|generation|speed|throughput))?"
    r"|(?:decode|generation|output) ?/ ?(?:stream|user|request)"
    r"|出字率|吞吐[量率]?|(?:生成|输出|解码|推理)速度"
)
BARE_SPEED_HEAD = words(  # of what: tokens or requests is not told
    r"(?:(?:mean|avg\.?|average|median|peak|max\.?|overall|measured|achieved) )?(?:throughput|tput|speed|tps)"
)
PHASE_HEAD = words(  # its time or its speed: only a unit tells
    r"(?:\d[\d.]{0,8}k? )?(?:prompt (?:processing|eval(?:uation)?)|(?:token |text )?generation|prefill(?:ing)?"
    r"|decod(?:e|ing))(?: (?:@ ?)?\d[\d.]{0,8}k?)?"
)
DURATION_HEAD = words(r"(?:total |run )?duration|elapsed(?: time)?|(?:wall|total)(?:[- ]clock)? time")
_STATISTIC = r"(?:mean|avg|median|min|max|p\d{2}(?:\.\d)?)"
_LISTED_STATISTICS = words(  # of the latencies of cells such as '81.5 / 120'
    rf"(?:\b(?P<unit>ms|s),? (?:\w+ )?\(?)?\b(?P<statistics>{_STATISTIC}(?: ?/ ?{_STATISTIC}){{1,3}})"
    r"(?:\)?,? \(?(?:in )?(?P<late_unit>ms|s)\b)?"
)
_PROMPT_TEST, _ANSWER_TEST = (words(rf".{{1,40}} {test}(?: new)?") for test in ("pp", "tg"))
_BARE_UNIT = words(rf"[(\[]?(?P<unit>{pattern_of(*RATES, 'ms', 's', '%', 'GB', 'GiB')})[)\]]?")
UNIT_HEAD = words(r"units?")
METRIC_HEAD = words(r"(?:performance )?(?:metrics?|parameters?|measure(?:ment)?s?|stat(?:istic)?s?|kpi|key)")
DERIVED_HEAD = words(  # of a column that compares others
    r"\W*(?:(?:%|pct|percent|relative|rel\.?|net) )?(?:changes?|gap|ratio|increase|decrease|reduction|improvement"
    r"|overhead|spread|regression|factor|boost|faster|slower|Δ|±|\+/-|%)(?: \(?%\)?)?\W*"
    r"|\W*(?:%|pct|percent) of (?:the )?(?:base(?:line)?|main|master|stock|vanilla|reference|original|native|peak"
    r"|bf16|fp16)(?: .{0,40})?"
    r"|\W*(?:% |change |relative |\w{1,12} )?vs\.? .*|\W*(?:compared|relative) to .*"
)
PUBLISHED_HEAD = words(  # of a column or a row of what others state
    r"(?:the |their )?(?:readme|docs?|documentation|data ?sheet|spec sheet|paper|blog(?: post)?|model card)"
    r"(?: (?:says?|claims?|numbers?|values?|figures?|results?))?(?: \([^()]{1,40}\))?"
)
ADVICE_HEAD = words(  # of a column of sentences that judge what its row measured
    r"recommend(?:ation|ed)?s?(?: .{1,30})?|advice|suggestions?|why(?: .{1,40})?|reason(?:s|ing)?|rationale|verdict"
    r"|takeaways?|conclusions?|best for|when to use.*|what (?:it|this) means"
)
SETTING_HEAD = words(  # of a column of plain numbers that no title gives a unit
    rf"{CONCURRENCY_HEAD.pattern}|{PROMPT_HEAD.pattern}|{OUTPUT_HEAD.pattern}|{DEPTH_HEAD.pattern}"
    r"|(?:# ?|n |num |num(?:ber)? of |total )?(?:requests?|reqs?|prompts?|runs?|samples?|iterations?|trials?|gpus?"
    r"|cards?|nodes?|threads?|cores?|layers?|experts?|slots?|seqs?|sequences?|tokens?|questions?|tests?|drafts?|params?)"
    r"|(?:build|version|revision|commit|driver)(?: (?:number|no\.?))?"
    r"|n|#|no\.?|id|rank|year|seed|step|ngl|ncmoe|tp|dp|ep|bits?|bpw|size|batch(?: size)?|m?bs|u?batch|context.*|ctx.*"
    r"|.*(?:length|size|tokens|count|rate|window|n[- ]max|draft[- ]max|spec(?:ulative)?[- ]tokens|steps|k)"
    r"|.*(?:\$|price|cost|power|watt|accept|accuracy|score|memory|vram|ram\b|bandwidth|utili[sz]ation).*"
)
LIMIT_HEAD = words(  # label of a row that states what may be used: 'Context window', 'Max model len', 'Memory limit'
    r"(?:(?:max(?:imum)?|model|native|configured|supported|tested|usable|stable|total)\.? ){0,3}(?:context|ctx)"
    r"(?: (?:window|len(?:gth)?|size|limit))?(?: \(tokens\))?"
    r"|max(?:imum)?\.? (?:(?:model|seq(?:uence)?|new|output|input|generated?) ){0,2}(?:len(?:gth)?|tokens)"
    r"|(?:(?:gpu|system|host) )?(?:memory|v?ram) (?:limit|budget|cap)"
)
COUNT_HEADS = (  # head or label of a plain number -> metric
    (words(r"(?:# |num(?:ber of)? )?(?:successful|completed|succeeded) req(?:uest)?s?"), "requests"),
    (words(r"req(?:uest)?s? (?:completed|succeeded)"), "requests"),
    (words(r"总请求数|總請求數"), "requests"),
    (words(r"失败(?:请求数?)?|失敗(?:請求數?)?"), "failed_requests"),
    (words(r"(?:# |num(?:ber of)? )?(?:failed|errored|error) req(?:uest)?s?|req(?:uest)?s? failed"), "failed_requests"),
    (words(r"(?:total|number of) (?:input|prompt)(?: text)? tokens"), "prompt_tokens"),
    (words(r"(?:total|number of) (?:generated|output|completion) tokens"), "completion_tokens"),
    (words(r"peak concurrent requests|peak concurrency"), "peak_concurrency"),
    (words(r"(?:draft )?accept(?:ance|ed|)(?: rate)?|acc\.? rate"), "acceptance_rate"),
)  # fmt: skip
_ACCURACY_HEAD, _INVALID_HEAD = words(r"acc(?:uracy|\.)?"), words(r"invalid(?: rate)?")  # of SGLang's question sets
_LATENCY_OF_SET = words(r"^latency\b")
_ACCEPTED = words(r"accept(?:ed)?")
COUNT_LABELS = (  # of a row: as a column's head a setting
    (words(r"failed|failures|errors"), "failed_requests"),
    (words(r"total requests|request count|requests|(?:number|num) of requests"), "requests"),
    (words(r"(?:mean |average |avg\.? |actual |achieved )?concurrency"), "mean_concurrency"),
)


def count_metric(value: StatedNumber, label: str, column_name: str = "") -> str | None:
    """Return the metric of a plain number that its row's label or its column's name says to be a count or a share."""
    if value.unit is not None or value.high is not None:
        return None
    metric = _count_metric_of(label, column_name)
    is_share, is_mean = metric == "acceptance_rate", metric == "mean_concurrency"
    if is_share and value.low in (0, 1) and _ACCEPTED.fullmatch(plain(column_name)):
        return None  # a count
    return metric if (value.low <= 1 if is_share else is_mean or value.low % 1 == 0) else None


@lru_cache(maxsize=1024)  # the names of a table are asked for at every cell
def _count_metric_of(label: str, column_name: str) -> str | None:
    named_patterns = [(column_name, COUNT_HEADS), (label, (*COUNT_HEADS, *COUNT_LABELS))]
    return next(
        (metric for name, pairs in named_patterns for pattern, metric in pairs if pattern.fullmatch(plain(name))), None
    )


def with_units_below(heads: Sequence[str], cells: Sequence[str]) -> list[str] | None:
    """Return heads with the units that stand alone in the cells below them; None if those are no row of units.

    The first column may have a word there: 'reqs' below 'Concurrency'.
    """
    units = [_BARE_UNIT.fullmatch(cell.strip("*` ")) for cell in cells]
    is_rest_empty = all(unit or has_no_value(cell) for unit, cell in zip(units[1:], cells[1:], strict=True))
    has_units = any(units[1:]) and is_rest_empty and not any(map(str.isdigit, cells[0] if cells else ""))
    has_own_units = any(unit and unit_in(head) for unit, head in zip(units[1:], heads[1:], strict=False))
    if len(heads) != len(cells) or not has_units or has_own_units:
        return None
    return [f"{head} ({unit['unit']})" if unit else head for head, unit in zip(heads, units, strict=True)]


def with_unit_of_latencies(heads: Sequence[str], rows: Sequence[Sequence[str]], words_above: str) -> list[str]:
    """Return heads with what the words above a table state for all latencies: 'times are in seconds', 'ms, p50/p95'."""
    unit, statistics = unit_of_latencies(words_above), ""
    if match := _LISTED_STATISTICS.search(words_above):
        unit, statistics = match["unit"] or match["late_unit"] or unit, match["statistics"]
    stated_heads = []
    for column, head in enumerate(heads):
        is_open = unit is not None and names_latency(head) and unit_in(head) is None
        cells = [row[column] for row in rows if column < len(row) and any(map(str.isdigit, row[column]))]
        is_listed = bool(statistics) and len(split_parts(head, TIGHT)) == 1
        is_listed = is_listed and all(len(split_parts(cell, TIGHT)) == statistics.count("/") + 1 for cell in cells)
        stated_heads.append(f"{head} {statistics if is_listed else ''} ({unit})" if is_open else head)
    return [" ".join(head.split()) for head in stated_heads]


def with_rates_sent(heads: Sequence[str]) -> list[str]:
    """Return heads with 'request rate' for the rate that is sent, where another column has the one that is served."""
    is_sent = [RATE_HEAD.fullmatch(plain(head)) is not None for head in heads]
    is_served = any(
        unit_in(head) == "requests/s" for head, is_sent_rate in zip(heads, is_sent, strict=True) if not is_sent_rate
    )
    return [
        "request rate" if is_sent_rate and is_served else head
        for head, is_sent_rate in zip(heads, is_sent, strict=True)
    ]


def with_units_of_tests(heads: Sequence[str]) -> list[str]:
    """Return heads with the unit of llama-bench's tests, which tables leave out where both stand: 'Vulkan pp'.

    Beside a column of a speed they are the lengths of the tests.
    """
    tests = (_PROMPT_TEST, _ANSWER_TEST)
    has_both = all(any(test.fullmatch(plain(head)) for head in heads) for test in tests)
    if not has_both or any(unit_in(head) == "tok/s" for head in heads):
        return [*heads]
    return [f"{head} (t/s)" if any(test.fullmatch(plain(head)) for test in tests) else head for head in heads]


def name_of_duration(column_name: str, heads: Sequence[str]) -> str:
    """Return the name of a column, 'Duration (s)' for the latency of a whole set of questions with their accuracy."""
    is_of_set = all(
        any(pattern.fullmatch(plain(head)) for head in heads) for pattern in (_ACCURACY_HEAD, _INVALID_HEAD)
    )
    return _LATENCY_OF_SET.sub("Duration", column_name) if is_of_set else column_name


@lru_cache(maxsize=1024)  # the names of a table are asked for at every cell
def names_latency(column_name: str) -> bool:
    """Return whether the head of a column names a latency, perhaps without its unit."""
    return LATENCY_HEAD.search(plain(column_name)) is not None


@lru_cache(maxsize=1024)  # likewise
def names_measurement(name: str) -> bool:
    """Return whether a head or a label without a unit is the name of a latency, a speed, a phase or a duration."""
    is_whole = any(
        pattern.fullmatch(plain(name)) for pattern in (SPEED_HEAD, BARE_SPEED_HEAD, PHASE_HEAD, DURATION_HEAD)
    )
    return is_whole or names_latency(name)


def plain(cell: str) -> str:
    """Return a name without marks, the words of a variable's name told apart."""
    return cell.replace("_", " ").strip("*` ")
