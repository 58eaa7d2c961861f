"""Lines that load testers of any HTTP server print at their end, as patterns."""

from __future__ import annotations

import re

from collectors.imports.results.tools.answer_tools import DURATION, TIME, AnswerTool, N, W, lines, statistics

K6_STATISTICS = {
    "mean": "avg", "min": "min", "median": "med", "max": "max", "p90": "p(90)", "p95": "p(95)", "p99": "p(99)",
}  # fmt: skip
_PERCENT = r"^\s{1,8}(?P<percent>(?!100)\d{1,2}(?:\.\d{1,4})?)% {1,12}"  # the 100th repeats the maximum
_OHA_UNITS = {"_s": "secs?", "_ms": "ms", "_us": "us", "_ns": "ns", "_10s": "10 sec", "_min": "min", "_10min": "10 min"}


def _time(before: str, metric: str, statistic: str) -> str:
    """Return the pattern of a time of oha or hey, which choose its unit by the slowest request."""
    units = (rf"(?P<{metric}{end}__{statistic}>{N}) {unit}" for end, unit in _OHA_UNITS.items())
    return rf"{before}(?:{'|'.join(units)})\s*$"


_OHA_DISTRIBUTION = lines(_time(r"^\s{1,8}(?P<percent>\d{1,2}(?:\.\d{1,4})?)%{1,2} in ", "e2e", "percentile"))
_OHA_OTHER_SECTIONS = (  # of answers with one kind of status, and of what is no time of a request
    "response time histogram", "response time histogram (2xx only)", "response time distribution (2xx only)",
    "response time histogram (4xx + 5xx only)", "response time distribution (4xx + 5xx only)",
    "status code distribution",
)  # fmt: skip
HTTP_TESTERS: tuple[AnswerTool, ...] = (
    AnswerTool(
        "k6", "http_req_duration",
        (
            *statistics(r"http_req_duration[. ]{0,40}:", "e2e_ms", K6_STATISTICS),
            *statistics(r"llamacpp_tokens_second[. ]{0,40}:", "decode_tps", K6_STATISTICS, number=N),
            *statistics(r"prompt_processing_second[. ]{0,9}:", "prompt_tps_per_request", K6_STATISTICS, number=N),
            *statistics(r"llamacpp_emit_first_token_second[. ]{0,40}:", "ttft_s", K6_STATISTICS, number=N),
            *statistics(r"llamacpp_prompt_tokens[. ]{0,40}:", "prompt_tokens", K6_STATISTICS, number=N),
            *statistics(r"llamacpp_completion_tokens[. ]{0,40}:", "completion_tokens", K6_STATISTICS, number=N),
            *lines(
                rf"^\s{{0,12}}http_reqs[. ]{{3,40}}: (?P<requests__total>{W}) {{1,12}}(?P<request_tps__mean>{N})/s",
                rf"^\s{{0,12}}http_req_failed[. ]{{3,40}}: {{1,4}}{N}% {{1,4}}(?:✓ )?(?P<failed_requests__total>{W})"
                rf"(?: {{1,12}}✗ {W}| out of {W})",
                rf"^\s{{0,12}}vus_max[. ]{{3,40}}: (?P<level>{W})",
            ),
        ),
        between=re.compile(
            r"^\s{0,14}(?:[\w ]{1,60}\.{2,60}|"
            r"\w{1,60}_total_counter|\{ ?expected_response:true ?\}\.{0,9} ?):|^\s{0,4}[A-Z]{4,20}$"
        ),
        concurrency=None, point="all requests", is_http_tester=True,
    ),
    AnswerTool(
        "oha or hey", "Requests/sec:",
        lines(
            _time(r"^\s{1,8}Total:\s{1,12}", "duration", "total"),
            _time(r"^\s{1,8}Slowest:\s{1,12}", "e2e", "max"),
            _time(r"^\s{1,8}Fastest:\s{1,12}", "e2e", "min"),
            _time(r"^\s{1,8}Average:\s{1,12}", "e2e", "mean"),
            rf"^\s{{1,8}}Requests/sec:\s{{1,12}}(?P<request_tps__mean>{N})",
            rf"^\s{{1,8}}Success rate:\s{{1,12}}(?P<fact_success_rate>{N}%)",
            rf"^\s{{1,8}}\[2\d\d\]\s{{1,8}}(?P<requests__total>{W}) responses",
            rf"^\s{{1,8}}\[[45]\d\d\]\s{{1,8}}(?P<failed_requests__total>{W}) responses",
        ),
        sections={
            **dict.fromkeys(("", "response time distribution", "latency distribution"), _OHA_DISTRIBUTION),
            **dict.fromkeys(_OHA_OTHER_SECTIONS, ()),
            "error distribution": lines(
                rf"^\s{{1,8}}\[(?P<incomplete_requests__total>{W})\] aborted due to deadline",
                rf"^\s{{1,8}}\[(?P<failed_requests__total>{W})\]\s{{1,8}}(?!aborted due to deadline|{W} responses)",
            ),
        },
        program=re.compile(r"(?<![\w/.-])(?:oha|hey)(?= )"),
        between=re.compile(
            r"^(?:Summary:|Response time (?:histogram|distribution)|Latency distribution:|Details |Status code)"
            r"|^\s{1,8}(?:Total data|Size/(?:request|sec)|DNS\S{1,10}|req write|resp (?:wait|read)):|\|■{0,80}\s*$"
            r"|^\s{1,8}\d{1,3}(?:\.\d{1,4})?%{1,2} in \S"
        ),
        concurrency=None, point="all requests", is_http_tester=True,
    ),
    AnswerTool(
        "wrk", "Requests/sec:",
        lines(
            rf"^\s{{1,8}}{W} threads and (?P<level>{W}) connections",
            rf"^\s{{1,8}}Latency {{1,20}}(?P<e2e_ms__mean>{DURATION}) {{1,20}}(?P<fact_latency_sd>{DURATION}) {{1,20}}"
            rf"(?P<e2e_ms__max>{DURATION}) {{1,20}}{N}%",
            rf"^\s{{1,8}}(?P<requests__total>{W}) requests in (?P<duration_s__total>{DURATION}), ",
            rf"^Requests/sec: {{1,20}}(?P<request_tps__mean>{N})",
            rf"^\s{{1,8}}Non-2xx or 3xx responses: (?P<failed_requests__total>{W})",
        ),
        sections={
            **dict.fromkeys(
                ("", "latency distribution", "latency distribution (hdrhistogram - recorded latency)"),
                lines(rf"{_PERCENT}(?P<e2e_ms__percentile>{DURATION})\s*$"),
            ),
            "latency distribution (hdrhistogram - uncorrected latency (measured without taking delayed starts into "
            "account))": lines(rf"{_PERCENT}(?P<stated_latency_without_delayed_starts_ms__percentile>{DURATION})\s*$"),
        },
        program=re.compile(r"(?<![\w/.-])wrk2?(?= )"),
        between=re.compile(
            r"^\s{0,8}(?:Running \d|Thread (?:Stats|calibration)|Req/Sec|Latency Distribution|Transfer/sec|"
            r"Socket errors|Detailed Percentile spectrum:|\s{1,8}Value {1,8}Percentile|#\[(?:Mean|Max|Buckets) |"
            r"\d{1,12}\.\d{1,6} {1,20}[01]\.\d{6} {1,20}\d{1,12} )|^\s{0,8}100\.0{1,4}% "
        ),
        concurrency=None, point="all requests", is_http_tester=True,
    ),
    AnswerTool(
        "bombardier", "Reqs/sec",
        lines(
            rf"^Bombarding .{{1,400}} using (?P<level>{W}) connection",
            rf"^\s{{1,8}}Reqs/sec {{1,20}}(?P<request_tps__mean>{N}) {{1,20}}(?P<fact_request_rate_sd>{N}) {{1,20}}"
            rf"(?P<request_tps__max>{N})\s*$",
            rf"^\s{{1,8}}Latency {{1,20}}(?P<e2e_ms__mean>{DURATION}) {{1,20}}(?P<fact_latency_sd>{DURATION}) {{1,20}}"
            rf"(?P<e2e_ms__max>{DURATION})\s*$",
            rf"{_PERCENT}(?P<e2e_ms__percentile>{DURATION})\s*$",
            rf"^\s{{1,8}}1xx - {W}, 2xx - (?P<requests__total>{W}), 3xx - {W}, 4xx - ",
            rf", 4xx - (?P<failed_requests__total>{W}), 5xx - {W}\s*$",
            rf", 4xx - {W}, 5xx - (?P<failed_requests__total>[1-9]\d{{0,11}})\s*$",
            r"^\s{1,8}others - (?P<failed_requests__total>[1-9]\d{0,11})\s*$",
        ),
        program=re.compile(r"(?<![\w/.-])bombardier(?= )"),
        between=re.compile(
            r"^(?:Statistics {1,20}Avg|Done!|\[[=>-]{10,200}\]| ?\d{1,12} / \d{1,12} )"
            r"|^\s{1,8}(?:Latency Distribution|HTTP codes:|Throughput:|Errors:|others - )"
            r"|^\s{4,20}\S.{1,200} - \d{1,12}\s*$"
        ),
        concurrency=None, point="all requests", is_http_tester=True,
    ),
    AnswerTool(
        "autocannon", "Req/Sec",
        lines(
            rf"^│ Latency +│ (?P<e2e_ms__p2_5>{N} {TIME}) +│ (?P<e2e_ms__median>{N} {TIME}) +│ "
            rf"(?P<e2e_ms__p97_5>{N} {TIME}) +│ (?P<e2e_ms__p99>{N} {TIME}) +│ "
            rf"(?P<e2e_ms__mean>{N} {TIME}) +│ (?P<fact_latency_sd>{N} {TIME}) +│ "
            rf"(?P<e2e_ms__max>{N} {TIME}) +│",
            rf"^│ Req/Sec +│ (?P<request_tps__p1>{N}) +│ (?P<request_tps__p2_5>{N}) +│ (?P<request_tps__median>{N}) +│ "
            rf"(?P<request_tps__p97_5>{N}) +│ (?P<request_tps__mean>{N}) +│ (?P<fact_request_rate_sd>{N}) +│ "
            rf"(?P<request_tps__min>{N}) +│",
            rf"^(?P<level>{W}) connections",
            rf"^(?P<requests__total>{W}) requests in (?P<duration_s__total>{DURATION}), ",
            rf"^(?P<failed_requests__total>{W}) errors",
        ),
        between=re.compile(r"^(?:Running \d|[┌├└│])"),
        concurrency=None, point="all requests", is_http_tester=True,
    ),
    AnswerTool(
        "Locust", "# reqs",
        lines(
            rf"^(?:GET|POST) {{1,12}}(?P<point>\S{{1,120}}) {{1,80}}(?P<requests__total>{W}) {{1,20}}"
            rf"(?P<failed_requests__total>{W})\({N}%\) \| {{1,12}}(?P<e2e_ms__mean>{N}) {{1,12}}"
            rf"(?P<e2e_ms__min>{N}) {{1,12}}(?P<e2e_ms__max>{N}) {{1,12}}(?P<e2e_ms__median>{N}) \| {{1,12}}"
            rf"(?P<request_tps__mean>{N}) {{1,12}}{N}\s*$",
        ),
        between=re.compile(r"^(?:Type {1,20}Name |-{4,20}\||\s{4,20}Aggregated )"),
        concurrency=None, point="all requests", is_http_tester=True,
        note="The row of all endpoints together was left out.",
    ),
    AnswerTool(
        "ApacheBench", "Time per request:",
        lines(
            rf"^Concurrency Level: {{1,20}}(?P<level>{W})",
            rf"^Time taken for tests: {{1,20}}(?P<duration_s__total>{N}) seconds",
            rf"^Complete requests: {{1,20}}(?P<requests__total>{W})",
            rf"^Failed requests: {{1,20}}(?P<failed_requests__total>{W})",
            rf"^Requests per second: {{1,20}}(?P<request_tps__mean>{N}) \[#/sec\] \(mean\)",
            rf"^Time per request: {{1,20}}(?P<e2e_ms__mean>{N}) \[ms\] \(mean\)\s*$",
            rf"^\s{{1,8}}(?P<percent>\d\d)% {{1,12}}(?P<e2e_ms__percentile>{N})\s*$",
            rf"^\s{{1,8}}100% {{1,12}}(?P<e2e_ms__max>{N}) \(longest request\)",
            r"^Document Path: {1,20}(?P<fact_path>\S{1,200})",
        ),
        program=re.compile(r"(?<![\w/.-])ab(?= -)"),
        between=re.compile(
            r"^(?:Server (?:Software|Hostname|Port)|Document Length|Total (?:transferred|body sent)|HTML transferred|"
            r"Transfer rate|Connection Times|Connect|Processing|Waiting|Total|Percentage of|Time per request|"
            r"Non-2xx responses|Keep-Alive requests|\s{1,20}min |\s{1,12}\(Connect:|\s{1,20}\d{1,9}\.\d\d kb/s)"
        ),
        concurrency=None, point="all requests", is_http_tester=True,
    ),
)  # fmt: skip
