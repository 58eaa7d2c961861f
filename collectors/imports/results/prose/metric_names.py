"""Maps names in texts to Pitwall's metrics and statistics: 'Peak TG' is the maximum of output tok/s."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.prose.decoding_speeds import ALL_STREAMS, DECODE, PER_STREAM


class MetricName(NamedTuple):
    """Pitwall's name of a metric, and the factor that converts the author's unit."""

    metric: str
    factor: float = 1.0


def words(pattern: str) -> re.Pattern[str]:
    """Return a pattern that ignores case."""
    return re.compile(pattern, re.IGNORECASE)


_PP = r"\bpp(?!\d\b)\d*\b"  # 'PP2' is a pipeline of two GPUs
PROMPT = rf"prefill|{_PP}|prompt|\binput\b|预填充|預填充"
GENERATION = (
    r"\btg\d*\b|\bgen(?:erat(?:ion|ing|e[ds]?))?(?:\b|(?=[\u3400-\u9fff]))"
    r"|decod(?:e|ing)|(?<!prompt )\beval (?:rate|time|duration|speed)"
    r"|throughput|\boutput\b|\bout(?= (?:tok|tps|t/s)|$| \d[\d.]{0,8}[kKM]? ?/ ?\d[\d.]{0,8} ?s\b)"
    r"|\bcompletion\b|解码|解碼|生成|吞吐|输出|輸出"
    r"|выходн|генерац|생성|출력|디코드|디코딩|généra|génér|geração|generación|generierung|ausgabe"
)
_NO_BENCHMARK = r"(?! (?:results?|benchmarks?|tests?|performance)\b)"  # 'End-to-end results' measures anything
_ACCEPTED_LENGTH = r"\bacc(?:e?pt)?(?:ance|ed)?(?:\. ?|[ -])len(?:gth)?"
_FIRST_TOKEN = r"ttft|\bftt\b|first[- ](?:content |time[- ]to[- ])?token(?! decod)|首\s?(?:token|字|词)"
_STATISTIC = r"(?: (?:mean|avg|median|min|max|p\d\d))?$"
_EVAL_ALONE = rf"^(?:gen(?:eration)? )?eval{_STATISTIC}"  # llama.cpp's word for decoding
_LATENCIES: tuple[tuple[str, str], ...] = (  # the first match counts
    (r"first response|ttfr|first byte|ttfb", "ttfr_ms"),
    (_FIRST_TOKEN, "ttft_ms"),
    (
        r"(?<![a-z0-9_])itl(?![a-z0-9_])|inter[- ]token|\btbt\b|time between tokens"
        r"|\bnext[- ]?token latency\b|\blatency next[- ]?token\b",
        "itl_ms",
    ),
    (
        r"(?<![a-z0-9_])tpot(?![a-z0-9_])|(?:per[- ]|time ?/ ?)output[- ]token|time per token|per[- ]token latency",
        "tpot_ms",
    ),
    (
        r"(?:prefill|\binput|prompt(?: (?:processing|eval(?:uation)?))?) (?:time|duration|latency)"
        r"|\blatency prefill\b"
        rf"|\bprefill(?=(?: \(m?s\))?\W*$)|\bprompt (?:eval(?:uation)?|processing){_STATISTIC}"
        rf"|^prompt{_STATISTIC}",
        "prompt_ms",
    ),
    (rf"(?:decod(?:e|ing)|(?<!prompt )eval) (?:time|duration)|{_EVAL_ALONE}", "decode_ms"),
    (
        r"(?<![a-df-z])(?<!token )(?<!tokens )(?<!low )(?<!lowest )(?<!total )(?<!normali[sz]ed )"
        r"latenc(?:y|ies\b)(?! per (?!req)|[- ](?:bound|optimi|sensitive|critical))"
        r"|\btime[- ]to[- ](?:answer|complete|completion)\b|(?<!total )\binference time\b"
        r"|total latency (?:\(?ms\)? )?(?:mean|avg|average|median|p\d\d)\b"  # alone it is that of the load
        r"|response time|^(?:avg |mean |p\d\d )?lat\b|\breq(?:uest)?[ _]?lat\b|延遲|延迟|时延|時延|响应时间|響應時間"
        r"|请求耗时|請求耗時"
        rf"|(?:\be2el?\b|end[- ]to[- ]end)(?!.{{0,9}}\bwall\b){_NO_BENCHMARK}",
        "e2e_ms",
    ),
)
_TIME_PER_TOKEN = r"^(?!.*(?:prefill|prompt|inter[- ]token)).*(?:\(ms/tok|(?<!latency) per tok(?:en)?(?: m?s)?$)"
_DURATIONS: tuple[tuple[str, str], ...] = (
    (r"torch\.compile|compil(?!\w* cache)", "compile_s"),
    (r"engine init|引擎初始化", "engine_init_s"),
    (r"weights? load(?:ing)?|load(?:ing|ed)? weights?|權重載入", "weights_load_s"),
    (r"\bmodel load(?:ing)?\b|模型載入", "model_load_s"),
    (r"\bready\b|就緒", "time_to_ready_s"),
    (
        r"\bwall\b|wall[- ]?(?:time|clock)|time taken|執行時間|总耗时|總耗時|总用时|持续时间"
        r"|duration|^(?:run |total )?dur\b"
        r"|\bbench(?:mark)? time|\b(?:batch|round) (?:completion )?time|total (?:\w+ )?time|execution time|elapsed",
        "duration_s",
    ),
)
LATENCY_NAMES = words("|".join(pattern for pattern, _ in _LATENCIES))
# (unit, pattern, metric): the first match counts, so specific rules come before general ones.
RULES: tuple[tuple[str, re.Pattern[str], MetricName], ...] = (
    ("tok/s", words(r"\bpeak output token throughput\b"), MetricName("peak_output_tps")),
    (
        "tok/s",
        words(
            rf"(?:\b(?:prefill|prompt|input)|{_PP})(?: (?:speed|throughput|tok(?:ens)?/s(?:ec)?|t/s|tps))? ?"
            rf"(?:{PER_STREAM})"
        ),
        MetricName("prompt_tps_per_request"),
    ),
    (
        "tok/s",
        words(
            rf"(?<!long[- _])prefill(?![- _]heavy)|{_PP}"
            r"|(?<!per[- ])\bprompts?[- ](?:tokens? )?(?:process|eval|ingest|throughput|tput|speed|rate|tps|t/s)"
            r"|(?<!\d )(?<!\dk )\b(?:prompts?[- ]|input (?:token )?)tok|^in (?:tok|tps|t/s)"
            r"|throughput\W{0,3}(?:tok(?:en)?s?/s(?:ec)?)?\W{1,4}(?:input|prompt)\b(?! ?\+)"
            r"|\binput (?:token )?(?:throughput|tput|rate|speed|tps|t/s|process)|\bspeed input\b|预填充|預填充"
        ),
        MetricName("prompt_tps"),
    ),
    (
        "tok/s",
        words(
            r"total (?:token )?(?:throughput|throughout|tput|tps|tok(?:ens)?[/ ]s)|(?:^|\bthroughput )total$"
            r"|(?:prompt|input) ?\+ ?(?:completion|out?put|ouput|gen)|[總总]吞吐"
        ),
        MetricName("total_tps"),
    ),
    (
        "tok/s",
        words(
            rf"completion (?:throughput|吞吐量)|\bwall (?:tps|tok/s|t/s)\b|(?:end-to-end|\be2e\b){_NO_BENCHMARK}"
        ),
        MetricName("e2e_tps"),
    ),
    ("tok/s", words(rf"{PER_STREAM}|tput user|\b1(?:000)? ?/ ?tpot\b"), MetricName("decode_tps")),
    ("tok/s", words(r"^\W*input\W*$"), MetricName("prompt_tps")),
    ("tok/s", words(r"aggregate|\bagg\b|batched|concurrent|聚合"), MetricName("output_tps")),
    (
        "tok/s",
        words(
            r"\bsingle(?:[- ](?:stream|user|req|client|seq|session|conc|batch)|\W*$|\W*[(:,])"
            rf"|\btg\d+\b|(?<!prompt )\beval (?:rate|speed)|{_EVAL_ALONE}"
        ),
        MetricName("decode_tps"),
    ),
    ("tok/s", words(rf"^(?!.*(?:{ALL_STREAMS}|throughput)).*(?:{DECODE})"), MetricName("decode_tps")),
    ("tok/s", words(GENERATION), MetricName("output_tps")),
    (
        "tok/s",
        words(r"(?<!token[ -])(?<!tokens[ -])(?<!long )(?<!short )(?<!same )(?<!\dk )(?<!\ba )(?<!\w-)"
              r"prompt(?!s\b|ing)"),
        MetricName("prompt_tps"),
    ),
    ("requests/s", words(r"\bgoodput\b"), MetricName("goodput_rps")),
    ("requests/s", words(r""), MetricName("request_tps")),
    ("requests", words(r"fail|error"), MetricName("failed_requests")),
    ("requests", words(r"(?:request|completed|successful)(?! latency)"), MetricName("requests")),
    ("s", words(r"^decod(?:e|ing)$"), MetricName("decode_ms", 1e3)),  # in milliseconds it may be that of a token
    *(
        (unit, words(_TIME_PER_TOKEN), MetricName("tpot_ms", factor))
        for unit, factor in (("ms", 1.0), ("s", 1e3))
    ),
    *(
        (unit, words(pattern), MetricName(metric, factor))
        for unit, factor in (("ms", 1.0), ("s", 1e3))
        for pattern, metric in _LATENCIES
    ),
    *(
        (unit, words(pattern), MetricName(metric, factor))
        for unit, factor in (("ms", 1e-3), ("s", 1.0))
        for pattern, metric in _DURATIONS
    ),
    ("GiB", words(r"available KV|可用 KV"), MetricName("kv_cache_gib")),
    ("GiB", words(r"model load|loading memory|GPU memory|載入記憶體"), MetricName("model_load_gib")),
    ("tokens", words(r"output (?:sequence )?len"), MetricName("completion_tokens")),
    ("tokens", words(r"(?:input|prompt) (?:sequence )?len"), MetricName("prompt_tokens")),
    ("tokens", words(r"KV"), MetricName("kv_cache_tokens")),
    ("1", words(r"max\w* concurrency|concurrency (?:for|at|of)|平行處理"), MetricName("full_context_concurrency")),
    ("", words(rf"{_ACCEPTED_LENGTH}|^al$|(?:mean|average|avg\.?) accept(?:ance|ed)? tokens"),
     MetricName("acceptance_length")),
    ("tokens", words(_ACCEPTED_LENGTH), MetricName("acceptance_length")),
    (
        "tokens",
        words(r"(?:output|completion|generated)(?: tokens)? per request|\brequest (?:output|completion) tokens"),
        MetricName("completion_tokens"),
    ),
    (
        "tokens",
        words(r"(?:input|prompt)(?: tokens)? per request|\brequest (?:input|prompt) tokens"),
        MetricName("prompt_tokens"),
    ),
    ("%", words(r"accept"), MetricName("acceptance_rate", 0.01)),
    ("", words(r"accept(?:ance)?[ _]rate|draft accept(?:ance)?\b"), MetricName("acceptance_rate")),
    ("", words(r"^full_layer_tokens|^max_total_num_tokens"), MetricName("kv_cache_tokens")),
    ("", words(r"^swa_layer_tokens"), MetricName("swa_tokens")),
)  # fmt: skip
LATENCIES_OF_TOKENS = ("ttft_ms", "itl_ms", "tpot_ms")
OWN_WORDS = words(rf"{_PP}|\btg\d+\b|aggregate|\bagg\b|{PER_STREAM}|\btotal\b|prefill")
PER_GPU = words(r"(?:/ ?|\bper[- ])(?:gpu|chip|device|accelerator|node|card)\b|单卡|每卡")
PER_GPU_RULES = (
    (words(r"\btot(?:al)?\b"), MetricName("total_tps_per_gpu")),
    (words(r"\bin(?:put)?\b|prefill|prompt"), MetricName("prompt_tps_per_gpu")),
    (words(r"\bout(?:put)?\b|decode|generat"), MetricName("output_tps_per_gpu")),
)
OF_DRAFTS = words(r"\b(?:accepted|drafted) throughput\b|\bper[- ]position\b")  # no speed, and no rate of all drafts
_SIDES = (words(PROMPT), words(GENERATION))
_BOTH_TESTS = words(r"\bpp ?\d{1,7}(?: ?[/+,x×] ?| )tg ?\d{1,7}\b")
_BARE_SIDE = words(rf"\W*(?:{PROMPT}|{GENERATION})(?: (?:phase|stage|tokens?))?\W*")  # no workload: what was measured
_THROUGHPUT = words(r"throughput|吞吐量?")
MINIMUM = words(
    r"最小|最低|(?<![/(])(?<!--)(?<!per )(?<!p-)(?<!top-)\bmin(?:imum)?\b(?!\)|[-_ ]p\b| {1,4}\d{1,4} ?:)"
)  # no minutes, no 'min-p'
MAXIMUM = words(
    r"最高|最大|峰值|\bpeak(?:s|ed)?\b|\bbest\b(?! of all|[- ]case)"
    # neither 'M4 Max', 'Dell Pro Max', 'RTX PRO 6000 Max-Q' nor 'n_max:16', 'max tokens'
    r"|(?<![ma]\d )(?<!ai )(?<!\bpro )(?<!\bn )(?<![-:])(?<!under )(?<!for )\bmax(?:imum)?\b"
    r"(?![-+:=]| ?\d| (?:new )?(?:tokens|batch|num|model|context|ctx|seq|conc|parallel|len|requests|load))"
)
_BEST = words(r"\bbest\b(?! of all|[- ]case)")
_PERCENT = r"5|10|20|25|50|70|75|80|85|90|95|97|98|99(?:\.\d{1,2})?"  # 'P40' and 'P100' are GPUs
PERCENTILE = words(
    rf"(?:\b|(?<=_))p(?P<percent>{_PERCENT})\b(?!\.?\d)|\b(?P<ordinal>\d{{2}}(?:\.\d{{1,2}})?)th percentile"
)
MEDIAN = words(  # 'med' alone may be the medium load
    r"\bmedian\b|\bmdn\b|(?:(?<=ttft )|(?<=tpot )|(?<=itl )|(?<=latency ))med\b"
    r"|中央値|中位|중앙값|медиан|\bmediana\b|\bmédiane\b"
)
_OF_OTHER_NUMBER = words(
    r"\((?:peak|max|min|best|avg|average|mean|median|p\d\d)[ :=~≈]{0,3}\d[^()]{0,40}\)"
)  # '(peak 39)'
_WITHOUT_IT = words(  # '(worst case, excluded from the median)'
    r"\b(?:exclud(?:ed|es|ing)|left out|omitted|not (?:part|counted)|missing)(?: (?:from|of|in|by))?"
    r" (?:the |its |our )?(?:median|mean|average|avg|p\d\d|max(?:imum)?|min(?:imum)?|peak|best)\b"
)
_ARM_AT_PEAK = words(  # 'math peak:' names an arm, 'peak:' and 'speed peak:' a maximum
    r"\w(?<!speed)(?<!rate)(?<!tps)(?<!/s)(?<!throughput)(?<!performance) (?:peak|best)"
    r"(?: \([^()]{1,80}\))?\s*[:=]?\s*$"
)
MEAN = words(r"\bavg\b|\baverage\b|\bmean\b|平均|평균|средн|média\b|\bmedia\b|moyenne|durchschnitt|mittelwert")
DERIVED = words(
    r"speed[- _]?up|\b(?:tps|tok/s|speed|throughput|latency|ttft|tpot)[- _]ratio\b"
    r"|\bdeltas?\b|Δ|savings|\bgains?\b|節省|增加|\bimprovement\b|\badvantage\b"
    r"|\bscaling\b(?! (?:factor|up|to|out|from))|\buplift\b"
    r"|\bcv\b|\bstd(?:ev|dev|\.)?\b|\bstandard deviation\b|\bvariance\b|\bdiff(?:erence)?\b"
)
AIMED_AT = re.compile(
    r"\b(?:targets?|goals?|slos?|slas?|timeout|deadline|budget|threshold|expected|theoretical"
    r"|(?:rate|[rt]pm|per min(?:ute)?)[- _]?limit(?:s|ed)?|max[- _][rt]pm|quotas?"
    r"|projected|projections?|predicted|estimat(?:e|es|ed)"
    r"|published|claimed|advertised|listed|leaderboards?|(?:customer|user|vendor|community|third[- ]party)[- ]reported"
    r"|(?:nvidia|amd|intel|vendor) official)\b",
    re.IGNORECASE,
)
FORECAST = words(  # heading of a table that nobody measured
    r"\b(?:expected|projected|predicted|anticipated|estimated|theoretical) (?:\w{1,20} )?(?:impact|gains?|performance"
    r"|results?|throughput|speeds?|improvements?|numbers|outcomes?|latenc(?:y|ies))\b|\bprojections?\b"
    r"|^\W*(?:[\d.]{1,8} )?(?:expected|projected|predicted|anticipated|estimated|theoretical|simulated)\b"
    r"|预估|預估|估算|预测值|理论(?:性能|峰值|上限|值)"
)
OF_MACHINE = words(  # heading of a table without results
    r"\W*(?:[\d.]{1,8} )?(?:(?:test|benchmark|our|the|host) )?"
    r"(?:hardware|machine|environment|software|system|test ?bed|specs?|specifications?)"
    r"(?: (?:and|&) (?:hardware|software|environment))?"
    r"(?: (?:setup|used|specs?|specifications?|configuration|details|info(?:rmation)?|environment|under test))?\W*"
)
PART_OF_MACHINE = words(  # label of a row of such a table
    r"\W*(?:gpus?|cpus?|ram|(?:system )?memory|os|operating system|driver(?: version)?|cuda(?: version)?|motherboard"
    r"|mainboard|disks?|ssd|nvme|storage|psu|power supply|kernel|python)\W*"
)
TASK = words(
    r"(?<![a-z0-9])(?:gsm8k|mmlu(?:[_-]pro)?|hellaswag|arc[_-](?:challenge|easy)|winogrande|truthfulqa|gpqa|ifeval"
    r"|humaneval\+?|mbpp\+?|swe[- ]bench(?: verified)?|bfcl|mgsm|commonsenseqa"
    r"|boolq|piqa|openbookqa|bbh|aime\d{0,4}|math_?500|livecodebench|lambada(?:_openai)?)(?![a-z0-9])"
)
ACCURACY = words(rf"accuracy|mmlu|gpqa|準確率|{TASK.pattern}")
_OF_PART = words(  # of a request's work: no latency of the request
    r"\b(?:decod(?:e|ing)|kernel|step|iteration|queu(?:e|ing)|attention|layer|network|tool|retrieval|search|embedding"
    r"|save|load|restore|store|fetch|evict(?:ion)?|lookup|write|read|dispatch|prefetch|offload|reload"
    r"|schedul(?:er|ing)|routing|transfer|communication|verification|draft(?:ing)?|sampling|host|swap)"
    r"[- ]latenc(?:y|ies)\b"
)
_FEATURE = words(  # switched on or off: no speed of decoding and none of the prompt
    r"\bspec(?:ulat(?:ive|ed|ion))?\.?[- ](?:decod(?:e|ing|er)|generation|prefill)\b|\bself[- ]?spec\w* decod\w*"
    r"|\b(?:prompt|prefix)[- ]cach(?:e|ed|ing)\b|\bchunked[- ]prefill\b"
    r"|\bprompt[- ]lookup(?:[- ]decod(?:e|ing))?\b|\b(?:guided|constrained|tree)[- ]decoding\b"
    r"|\b(?:disaggregated|disagg|separate)[- ]prefill\b"
)
_TOTAL_OF_ONE = words(r"\b(?:per[- ](?:request|user|stream)) total\b|\btotal (?:\w+ )?per[- ](?:request|user|stream)\b")
_OF_WORKLOAD = words(
    r"\b(?:on|with|for|from) (?:an?|the|this|that|each|my|our) (?:[\w-]{1,20} ){0,3}prompts?\b"
    r"|\bafter (?:an? )?[\d.,]{1,9}[kK]?[- ]tokens? (?:prefill|prompt)\b"
    r"|\b(?:during|while) (?:[\w-]{1,20} ){0,2}(?:prefill(?:ing)?|decod(?:e|ing)|prompt processing)\b"
)


@lru_cache(maxsize=1024)  # the names of a table are asked for at every cell
def metric_of(text: str, unit: str | None) -> MetricName | None:
    """Return Pitwall's metric for a text and unit; None if there is none."""
    if unit == "tok/s" and PER_GPU.search(text):
        return next((name for pattern, name in PER_GPU_RULES if pattern.search(text)), None)
    if OF_DRAFTS.search(text) or (unit == "tok/s" and _TOTAL_OF_ONE.search(text)):
        return None
    text = without_features(_OF_WORKLOAD.sub("", _OF_PART.sub("", text)))
    return next(
        (name for rule_unit, pattern, name in RULES if rule_unit == (unit or "") and pattern.search(text)), None
    )


def without_features(text: str) -> str:
    """Return a text without what is switched on or off, and has the name of a phase: 'speculative decoding'."""
    return _FEATURE.sub("", text)


def without_both_tests(column_name: str, label: str) -> tuple[str, str]:
    """Return both names, without a test of both sides where one names what was measured itself, or as a speed of both.

    Beside 'pp512/tg128' the column 'tg TPS' is the speed of the answers; llama-bench's 'pp512+tg128' counts all tokens.
    """
    for test, other_name in ((label, column_name), (column_name, label)):
        if match := _BOTH_TESTS.search(test):
            words_left = _BOTH_TESTS.sub("total throughput" if "+" in match[0] else "", test)
            words_left = test.replace(match[0], "") if _names_side(other_name) else words_left
            return (other_name, words_left) if test is label else (words_left, other_name)
    return column_name, label


def without_workload(column_name: str, label: str, has_unit_in_column: bool) -> tuple[str, str]:
    """Return both names, without the words of a prompt or an answer in the one that names the workload.

    'Decode (tok/s)' in the row 'Long prompt' is a speed of decoding.
    """
    for side, measured in ((label, column_name), (column_name, label)):
        if names_side_alone(side) and not any(map(_names_side, _THROUGHPUT.split(measured))):
            return side, measured  # 'Prefill' beside 'Throughput (tok/s)'
    is_prompt, is_answer = ([pattern.search(name) is not None for name in (column_name, label)] for pattern in _SIDES)
    if is_prompt[0] != is_answer[0] and is_prompt[1] != is_answer[1] and is_prompt[0] != is_prompt[1]:
        workload, measured = (label, column_name) if has_unit_in_column else (column_name, label)
        cleaned = _SIDES[0].sub("", _SIDES[1].sub("", workload))
        return (measured, cleaned) if has_unit_in_column else (cleaned, measured)
    return column_name, label


def metric_of_test(test: str, column_name: str, unit: str | None) -> MetricName | None:
    """Return the metric of a column in the test of one side of a request, 'pp512'; None if it names a side itself."""
    if any(map(_names_side, _THROUGHPUT.split(column_name))):
        return None
    return metric_of(f"{test} {column_name}", unit)


def names_side_alone(text: str) -> bool:
    """Return whether a text names the prompt's or the answer's side and nothing else: 'Prefill', 'Decode phase'."""
    return _BARE_SIDE.fullmatch(text) is not None


def _names_side(text: str) -> bool:
    return any(pattern.search(text) for pattern in _SIDES)


def own_metric_of(text: str, unit: str | None) -> MetricName | None:
    """Return the metric of a text that says whose speed it is, so that no other words change it: 'aggregate tok/s'."""
    return metric_of(text, unit) if unit == "tok/s" and OWN_WORDS.search(text) else None


def names_arm_at_peak(label: str, metric: str) -> bool:
    """Return whether a label without a metric ends with a word that may be its arm's, and no maximum: 'math peak:'."""
    return metric == STATED and _ARM_AT_PEAK.search(label) is not None


def statistic_of(text: str, bound: str | None, metric: str = STATED) -> str:
    """Return the statistic that a text names; `bound`: 'max' or 'min' if its number is one.

    'maximum concurrency' is the name of a metric.
    """
    text = _WITHOUT_IT.sub("", _OF_OTHER_NUMBER.sub("", text) if "(" in text else text)
    if percentile := PERCENTILE.search(text):
        return percentile_name(percentile["percent"] or percentile["ordinal"])
    if MEDIAN.search(text):
        return "median"
    if bound:
        return bound
    if MEAN.search(text):
        return "mean"
    if metric.endswith("_ms") and _BEST.search(text):
        return "min"  # the best latency
    if MAXIMUM.search(text) and metric != "full_context_concurrency":
        return "max"
    return "min" if MINIMUM.search(text) else STATED
