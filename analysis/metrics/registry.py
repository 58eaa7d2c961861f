"""The metric registry: every number that a page, a report, the command line or the API shows of a run.

From METRICS come the columns, filters and orders of Runs and the columns of `run_reports`, the terms of the objectives
that Compare and studies use, the tiles of Run, the rows of Compare and of reports, the metrics of Explore, the view
`metrics` and docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from analysis.metrics.definition import Concurrency, ListColumn, RegisteredMetric, Repeats, Section, Subject
from reasons import Code

CLIENT = "Pitwall's client"
STORED_RESULTS = "results of Pitwall's loads whose requests are not stored"
COUNTERS = "the engine's counters"
SLOTS = "the engine's slots"
LOG = "the engine's log"
STARTUP_LOG = "the server's start-up log"
SAMPLES = "samples of the machine"
ENGINE_SOURCES = (COUNTERS, SLOTS, LOG)
FEW_WINDOWS = (Code.NO_WINDOW, Code.TOO_FEW_WINDOWS)
NEVER_ALONE = (*FEW_WINDOWS, Code.SELDOM_ALONE, Code.CONCURRENCY_UNKNOWN)
NO_REQUEST = (Code.NO_LOAD, Code.NO_REQUEST_OF_KIND)
NO_DRAFT = (Code.NO_DRAFT_MADE, Code.NO_DRAFT_TOLD, Code.DRAFTS_NOT_COUNTED, Code.DRAFTS_NOT_LOGGED)


def _latency(key: str, title: str, times: str, example: str, share: int) -> RegisteredMetric:
    """Define a percentile of a latency; a high one of few requests is just their maximum."""
    fewest = {50: 1, 95: 20, 99: 100}[share]
    needs = "" if fewest == 1 else f"; from {fewest} requests"
    return RegisteredMetric(
        key=key if share == 50 else f"{key.removesuffix('_ms')}_p{share}_ms",
        title=title,
        label=f"p{share}",
        unit="ms",
        higher_is_better=False,
        section=Section.LATENCY,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.EACH,
        statistic="median" if share == 50 else f"{share}th percentile",
        definition=f"{'Median' if share == 50 else f'{share}th percentile'} over the requests of {times}{needs}.",
        example=example,
        computed_by="analysis.evidence.measure:measure_latency",
        sources=(CLIENT,),
        unknown=(*NO_REQUEST, *(() if share == 50 else (Code.TOO_FEW_REQUESTS,))),
        objective={50: key, 95: f"{key.removesuffix('_ms')}_p95_ms", 99: ""}[share],
    )


def _of_windows(
    key: str,
    title: str,
    statistic: str,
    definition: str,
    example: str,
    column: ListColumn | None = None,
    label: str = "",
) -> RegisteredMetric:
    """Define a speed of the windows at one concurrency; the list of runs has that of one request alone."""
    is_peak = key in ("peak_tps", "maximum_tps")
    return RegisteredMetric(
        key=key,
        title=title,
        unit="tok/s",
        higher_is_better=True,
        section=Section.SPEED,
        subject=Subject.WINDOWS,
        concurrency=Concurrency.EACH,
        statistic=statistic,
        definition=f"{definition}{' In the list of runs: one request alone.' if column else ''}",
        example=example,
        computed_by="analysis.runs.speed_summary:summarize",
        sources=ENGINE_SOURCES,
        unknown=(*NEVER_ALONE, Code.NO_WHOLE_WINDOW, Code.FEW_WHOLE_WINDOWS) if is_peak else NEVER_ALONE,
        column=column,
        label=label,
    )


def _memory(key: str, title: str, definition: str, example: str) -> RegisteredMetric:
    return RegisteredMetric(
        key=key,
        title=title,
        unit="GiB",
        higher_is_better=None,
        section=Section.CAPACITY,
        subject=Subject.START,
        concurrency=Concurrency.NOT_APPLICABLE,
        statistic="as logged",
        definition=definition,
        example=example,
        computed_by="storage/views/startup.sql",
        sources=(STARTUP_LOG,),
        repeats=Repeats.MEDIAN,
    )


def _startup(key: str, title: str, activity: str) -> RegisteredMetric:
    return RegisteredMetric(
        key=key,
        title=title,
        unit="s",
        higher_is_better=False,
        section=Section.STARTUP,
        subject=Subject.START,
        concurrency=Concurrency.NOT_APPLICABLE,
        statistic="as logged",
        definition=f"Seconds of {activity}, as the engine logs them.",
        example="'Loading weights took 12.3 seconds' gives 12.3 s.",
        computed_by="storage/views/startup.sql",
        sources=(STARTUP_LOG,),
    )


METRICS: tuple[RegisteredMetric, ...] = (
    RegisteredMetric(
        key="stream_tps",
        title="Stream speed",
        unit="tok/s",
        higher_is_better=True,
        section=Section.SPEED,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.ALONE,
        statistic="geometric mean over the kinds of prompt",
        definition="Decode speed of one request alone: tokens after the first chunk over the time since it arrived, of "
        "all requests of a kind of prompt together, then the geometric mean over the kinds.",
        example="Kind A: 99 tokens in 1 s; kind B: 99 tokens in 4 s: the geometric mean of 99 and 24.75 is 49.5 tok/s.",
        computed_by="analysis.evidence.measure:measure_decoding",
        sources=(CLIENT, STORED_RESULTS),
        repeats=Repeats.OF_LOADS,
        unknown=(*NO_REQUEST, Code.TOO_FEW_CHUNKS),
        objective="decode_tps",
        column=ListColumn("stream", "Stream", width_px=116, is_proposed=True),
    ),
    RegisteredMetric(
        key="output_tps",
        title="Output speed",
        unit="tok/s",
        higher_is_better=True,
        section=Section.SPEED,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.EACH,
        statistic="tokens over seconds",
        definition="Output tokens of all concurrent requests over the seconds in which at least nine tenths of them "
        "ran; of requests that come as they arrive, over all seconds. In the list of runs: the highest of its loads.",
        example="4 at once: 2,400 tokens in the 8 s with 4 requests in flight are 300 tok/s, whatever the ramps took.",
        computed_by="analysis.evidence.measure:measure_output",
        sources=(CLIENT, STORED_RESULTS),
        repeats=Repeats.OF_LOADS,
        unknown=(Code.NO_LOAD, Code.NO_STEADY_PART),
        objective="output_tps",
        column=ListColumn("output", "Output", width_px=118, is_proposed=True),
    ),
    RegisteredMetric(
        key="output_concurrency",
        title="Concurrency of the output",
        unit="requests",
        higher_is_better=None,
        section=Section.SPEED,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.NOT_APPLICABLE,
        statistic="one number",
        definition="Concurrent requests at which the run had the output speed of the list of runs; 0: as they arrive.",
        example="A ladder with 85 tok/s at 4 and 151 tok/s at 8 has the output 151 tok/s at concurrency 8.",
        computed_by="reports.runs.run_metrics:highest_output",
        sources=(CLIENT,),
        repeats=Repeats.MEDIAN,
        is_count=True,
        column=ListColumn("output_at", "Output at", 0, has_unit=False),
    ),
    RegisteredMetric(
        key="prompt_tps",
        title="Prefill speed",
        unit="tok/s",
        higher_is_better=True,
        section=Section.SPEED,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.EACH,
        statistic="tokens over seconds",
        definition="Computed prompt tokens of all requests together over the sum of their times to first token, which "
        "include sending and queueing; tokens from the prefix cache do not count.",
        example="2,048 prompt tokens, 1,024 of them cached, first token after 0.5 s: 2,048 tok/s.",
        computed_by="analysis.evidence.measure:prefill_tps",
        sources=(CLIENT,),
        unknown=NO_REQUEST,
        objective="prompt_tps",
    ),
    RegisteredMetric(
        key="request_tps",
        title="Request rate",
        unit="requests/s",
        higher_is_better=True,
        section=Section.SPEED,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.EACH,
        statistic="requests over seconds",
        definition="Requests that ended well, over the seconds from the first sent to the last ended of each phase.",
        example="Two phases of 12 requests in 6 s and 4 s: 24 requests in 10 s are 2.4 requests/s.",
        computed_by="analysis.evidence.measure:request_tps",
        sources=(CLIENT,),
        unknown=NO_REQUEST,
        objective="request_tps",
    ),
    RegisteredMetric(
        key="mean_decode_tps",
        title="Decode speed, mean",
        unit="tok/s",
        higher_is_better=True,
        section=Section.SPEED,
        subject=Subject.WINDOWS,
        concurrency=Concurrency.ANY,
        statistic="tokens over seconds",
        definition="Decoded tokens over seconds of all windows with decoding only, and of gaps in the counters' "
        "answers whose counts are known: steps/s times tokens per step.",
        example="Windows of 2 s with 100, 120 and 110 tokens: 330 tokens in 6 s are 55 tok/s.",
        computed_by="analysis.runs.speed_summary:speed_factors",
        sources=ENGINE_SOURCES,
        grows_with_concurrency=True,
        unknown=FEW_WINDOWS,
        objective="log_tps",
    ),
    _of_windows(
        "typical_tps",
        "Decode speed, typical",
        "median weighted by time",
        "Median of the windows in which this many requests decoded throughout.",
        "Windows of 2 s at 48, 50 and 70 tok/s: 50 tok/s.",
        ListColumn("typical", "Typical", width_px=116, is_proposed=True),
    ),
    _of_windows(
        "peak_tps",
        "Decode speed, peak",
        "99th percentile",
        "99th percentile of the complete windows, at least three, in which this many requests decoded throughout.",
        "Of 200 windows from 40.0 to 59.9 tok/s: 59.7 tok/s.",
        ListColumn("peak", "Peak", width_px=106, is_proposed=True),
        "p99",
    ),
    _of_windows(
        "maximum_tps",
        "Decode speed, peak",
        "maximum",
        "The fastest of the complete windows, at least three, in which this many requests decoded throughout.",
        "Of windows at 48, 50 and 70 tok/s: 70 tok/s.",
        label="maximum",
    ),
    _of_windows(
        "floor_tps",
        "Decode speed, floor",
        "10th percentile",
        "10th percentile of the windows in which this many requests decoded throughout.",
        "Of 11 windows from 40 to 50 tok/s: 41 tok/s.",
        ListColumn("floor", "Floor", width_px=110),
    ),
    RegisteredMetric(
        key="printed_tps",
        title="Log only (not ranked)",
        unit="tok/s",
        higher_is_better=True,
        section=Section.SPEED,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="median",
        definition="Median of what the log's lines print while the server generates, if nothing was measured; what it "
        "counts, and over which interval, differs by engine.",
        example="Lines with 90, 101 and 103 tok/s: 101 tok/s.",
        computed_by="storage/queries/sql/measured/printed_speeds.sql",
        sources=(LOG,),
        is_ranked=False,
    ),
    RegisteredMetric(
        key="printed_lines",
        title="Log lines with this speed",
        unit="",
        higher_is_better=None,
        section=Section.SPEED,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="total",
        definition="Lines of the log that the median of its speed is taken over.",
        example="11 lines print a speed above 0: 11.",
        computed_by="storage/queries/sql/measured/printed_speeds.sql",
        sources=(LOG,),
        is_count=True,
        is_ranked=False,
    ),
    *(
        _latency(
            "ttft_ms",
            "Time to first token",
            "the time from sending to the first token",
            "First tokens after 100, 110 and 400 ms: 110 ms.",
            share,
        )
        for share in (50, 95, 99)
    ),
    *(
        _latency(
            "tpot_ms",
            "Time per output token",
            "the time since the first chunk over the tokens after it",
            "99 tokens in the 1,980 ms after the first chunk: 20 ms.",
            share,
        )
        for share in (50, 95, 99)
    ),
    *(
        _latency(
            "e2e_ms",
            "End-to-end latency",
            "the time from sending to the end of the answer",
            "Answers after 2,000, 2,100 and 5,000 ms: 2,100 ms.",
            share,
        )
        for share in (50, 95, 99)
    ),
    RegisteredMetric(
        key="work_s",
        title="Time to finish the work",
        unit="s",
        higher_is_better=False,
        section=Section.LATENCY,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.EACH,
        statistic="total",
        definition="Duration of the phases without pauses; compared if all answers have equal lengths.",
        example="Two complete phases of 30 s and 32 s: 62 s.",
        computed_by="analysis.evidence.measure:measure_work",
        sources=(CLIENT,),
        unknown=(Code.NO_LOAD, Code.PHASE_NOT_ENDED),
        objective="work_s",
    ),
    RegisteredMetric(
        key="tokens_per_step",
        title="Tokens per step",
        unit="tok/step",
        higher_is_better=True,
        section=Section.SPECULATION,
        subject=Subject.WINDOWS,
        concurrency=Concurrency.ANY,
        statistic="tokens over steps",
        definition="Tokens that one request is given in one decode step, over all windows with decoding only; "
        "1 without speculation.",
        example="330 tokens in 110 steps: 3.",
        computed_by="analysis.runs.speed_summary:speed_factors",
        sources=ENGINE_SOURCES,
        unknown=(*FEW_WINDOWS, Code.NO_STEP_COUNTER, Code.NO_STEP_COUNTED, Code.STEPS_MISSING),
        column=ListColumn("tokens_per_step", "Tokens per step", 2, 132, True, has_unit=False),
    ),
    RegisteredMetric(
        key="steps_per_s",
        title="Steps per second",
        unit="/s",
        higher_is_better=True,
        section=Section.SPECULATION,
        subject=Subject.WINDOWS,
        concurrency=Concurrency.ANY,
        statistic="steps over seconds",
        definition="Decode steps per second, one counted for each running request: the hardware's speed, however many "
        "tokens a step yields.",
        example="110 steps in 6 s: 18.3 /s.",
        computed_by="analysis.runs.speed_summary:speed_factors",
        sources=ENGINE_SOURCES,
        grows_with_concurrency=True,
        unknown=(*FEW_WINDOWS, Code.NO_STEP_COUNTER, Code.NO_STEP_COUNTED, Code.STEPS_MISSING),
    ),
    RegisteredMetric(
        key="acceptance_length",
        title="Acceptance length",
        unit="tok/step",
        higher_is_better=True,
        section=Section.SPECULATION,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="1 + accepted / drafts",
        definition="Tokens per verified draft, including the target model's own: at most one more than it drafts.",
        example="250 draft tokens accepted in 100 drafts: 3.5.",
        computed_by="storage/queries/sql/measured/acceptance.sql",
        sources=ENGINE_SOURCES,
        unknown=NO_DRAFT,
        column=ListColumn("acceptance", "Acceptance length", 2, 150, True, has_unit=False),
    ),
    RegisteredMetric(
        key="acceptance_peak",
        title="Acceptance length, peak (p99)",
        unit="tok/step",
        higher_is_better=None,
        section=Section.SPECULATION,
        subject=Subject.WINDOWS,
        concurrency=Concurrency.ANY,
        statistic="99th percentile",
        definition="99th percentile of the acceptance length of complete windows with decoding only.",
        example="Of windows with 3.1, 3.4 and 4.0: 3.99.",
        computed_by="analysis.runs.speed_summary:summarize",
        sources=ENGINE_SOURCES,
        unknown=(*FEW_WINDOWS, *NO_DRAFT),
    ),
    RegisteredMetric(
        key="acceptance_rate",
        title="Acceptance rate",
        unit="0 to 1",
        higher_is_better=None,
        section=Section.SPECULATION,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="accepted / drafted",
        definition="Accepted share of the drafted tokens over the whole run; with other draft lengths not comparable.",
        example="250 of 400 drafted tokens accepted: 0.625.",
        computed_by="storage/queries/sql/measured/acceptance.sql",
        sources=ENGINE_SOURCES,
        unknown=NO_DRAFT,
        column=ListColumn("acceptance_rate", "Acceptance rate", 3, 180),
    ),
    RegisteredMetric(
        key="position_acceptance",
        title="Accepted up to position",
        unit="0 to 1",
        higher_is_better=None,
        section=Section.SPECULATION,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="accepted / drafts",
        definition="Share of all drafts of which the tokens up to this position were accepted; not a product of rates.",
        example="Position 2 accepted in 40 of 100 drafts: 0.4.",
        computed_by="storage/queries/sql/measured/acceptance.sql",
        sources=ENGINE_SOURCES,
        unknown=(*NO_DRAFT, Code.POSITIONS_NOT_COUNTED, Code.POSITIONS_PER_REQUEST_ONLY),
    ),
    RegisteredMetric(
        key="looping_ratio",
        title="Looping answers",
        unit="0 to 1",
        higher_is_better=None,
        section=Section.SPEED,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.ANY,
        statistic="looping / checked",
        definition="Share of the measured answers that end in a loop; a text that goes on past its end on request "
        "counts only if its loop begins in its first half.",
        example="3 of 15 answers repeat their last sentence until they end: 0.2.",
        computed_by="storage/queries/sql/loads/request_totals.sql",
        sources=(CLIENT,),
        repeats=Repeats.MEDIAN,
        unknown=(Code.NO_LOAD,),
        column=ListColumn("looping", "Looping answers", 3, 184),
    ),
    RegisteredMetric(
        key="kv_cache_tokens",
        title="KV cache",
        unit="tokens",
        higher_is_better=True,
        section=Section.CAPACITY,
        subject=Subject.START,
        concurrency=Concurrency.NOT_APPLICABLE,
        statistic="as logged",
        definition="Tokens of all requests together that fit into the KV cache, per engine rank, as the engine reports "
        "at its start.",
        example="'GPU KV cache size: 410,000 tokens' gives 410,000.",
        computed_by="storage/views/startup.sql",
        sources=(STARTUP_LOG,),
        repeats=Repeats.MEDIAN,
        is_count=True,
    ),
    RegisteredMetric(
        key="full_context_concurrency",
        title="Full-length requests",
        unit="requests",
        higher_is_better=True,
        section=Section.CAPACITY,
        subject=Subject.START,
        concurrency=Concurrency.NOT_APPLICABLE,
        statistic="as logged",
        definition="Requests of the full context length that fit at once, as the engine reports.",
        example="'Maximum concurrency for 32,768 tokens per request: 12.5x' gives 12.5.",
        computed_by="storage/views/startup.sql",
        sources=(STARTUP_LOG,),
        repeats=Repeats.MEDIAN,
    ),
    _memory(
        "model_load_gib",
        "Weights in memory",
        "Size of the weights in memory, per engine rank, as the engine reports.",
        "'Model loading took 18.5 GiB' gives 18.5 GiB.",
    ),
    _memory(
        "kv_cache_gib",
        "KV cache memory",
        "Memory of the KV cache, per engine rank, as the engine reports.",
        "'Available KV cache memory: 40.2 GiB' gives 40.2 GiB.",
    ),
    _memory(
        "graph_capture_gib",
        "Graph memory",
        "Memory that the captured graphs took, as the engine reports.",
        "'Graph capturing finished in 9 secs, took 0.6 GiB' gives 0.6 GiB.",
    ),
    RegisteredMetric(
        key="kv_usage_peak_ratio",
        title="Peak use of the KV cache",
        unit="0 to 1",
        higher_is_better=None,
        section=Section.CAPACITY,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="maximum",
        definition="Largest share of the KV cache in use in one sample, 0 to 1: mean of its ranks.",
        example="Samples of 0.10, 0.62 and 0.31: 0.62.",
        computed_by="storage/queries/sql/measured/whole_run_data.sql",
        sources=ENGINE_SOURCES,
        column=ListColumn("kv_peak", "Peak use of the KV cache", 3, 240),
    ),
    RegisteredMetric(
        key="gpu_memory_peak_gib",
        title="Peak GPU memory",
        unit="GiB",
        higher_is_better=False,
        section=Section.CAPACITY,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="maximum",
        definition="The most memory that the server's own processes held on each GPU, summed over the GPUs.",
        example="Two GPUs with 30 and 31 GiB at most: 61 GiB.",
        computed_by="storage/queries/sql/measured/gpu_memory_peaks.sql",
        sources=(SAMPLES,),
        column=ListColumn("gpu_memory", "Peak GPU memory", width_px=178),
    ),
    RegisteredMetric(
        key="preemptions",
        title="Preemptions",
        unit="",
        higher_is_better=False,
        section=Section.CAPACITY,
        subject=Subject.RUN,
        concurrency=Concurrency.ANY,
        statistic="total",
        definition="Requests that the server preempted, as in run_totals.",
        example="The counter rose from 3 to 10: 7.",
        computed_by="storage/queries/sql/measured/whole_run_data.sql",
        sources=(COUNTERS,),
        repeats=Repeats.MEDIAN,
        is_count=True,
        column=ListColumn("preemptions", "Preemptions", 0, 114),
    ),
    RegisteredMetric(
        key="startup_s",
        title="Time to ready",
        unit="s",
        higher_is_better=False,
        section=Section.STARTUP,
        subject=Subject.START,
        concurrency=Concurrency.NOT_APPLICABLE,
        statistic="one duration",
        definition="Seconds from the start of the process to its readiness, of servers that Pitwall started.",
        example="Started at 10:00:00, ready at 10:01:05: 65 s.",
        computed_by="reports.runs.measured_loads:startup_span",
        sources=("Pitwall's supervisor",),
        unknown=(Code.NOT_STARTED_BY_US,),
        objective="startup_s",
    ),
    _startup("model_load_s", "Loading the weights", "loading the weights"),
    _startup("compile_s", "Compilation", "compiling"),
    _startup("graph_capture_s", "Graph capture", "capturing graphs"),
    _startup("engine_init_s", "Engine start", "the engine's start, from loading the weights to ready"),
    RegisteredMetric(
        key="gpu_power_w",
        title="GPU power under load",
        unit="W",
        higher_is_better=False,
        section=Section.POWER,
        subject=Subject.MACHINE,
        concurrency=Concurrency.ANY,
        statistic="joules over seconds",
        definition="Mean power of all its GPUs together while requests of Pitwall's loads were measured.",
        example="Two GPUs with 30 kJ and 33 kJ in 100 s: 630 W.",
        computed_by="reports.runs.measured_loads:mean_w",
        sources=(SAMPLES,),
        unknown=(Code.NO_ENERGY,),
        column=ListColumn("power", "GPU power under load", width_px=196),
    ),
    RegisteredMetric(
        key="tokens_per_j",
        title="Tokens per joule",
        unit="tok/J",
        higher_is_better=True,
        section=Section.POWER,
        subject=Subject.MACHINE,
        concurrency=Concurrency.ANY,
        statistic="tokens over joules",
        definition="Output tokens of the measured requests of Pitwall's loads over the energy of its GPUs meanwhile.",
        example="12,000 tokens for 63 kJ: 0.19 tok/J.",
        computed_by="analysis.comparison.replicates:tokens_per_j",
        sources=(SAMPLES,),
        unknown=(Code.NO_ENERGY, Code.NO_OUTPUT_TOKENS),
        objective="tokens_per_j",
        column=ListColumn("per_joule", "Tokens per joule", 3, 184),
    ),
    RegisteredMetric(
        key="sm_clock_mhz",
        title="SM clock",
        unit="MHz",
        higher_is_better=None,
        section=Section.POWER,
        subject=Subject.MACHINE,
        concurrency=Concurrency.ANY,
        statistic="median",
        definition="Median clock of the SMs while a kernel ran, during its last load.",
        example="Samples of 1,980, 1,965 and 1,830 MHz: 1,965 MHz.",
        computed_by="storage/queries/sql/machines/gpu_conditions.sql",
        sources=(SAMPLES,),
    ),
    RegisteredMetric(
        key="server_cores",
        title="CPU of the server under load",
        unit="cores",
        higher_is_better=None,
        section=Section.POWER,
        subject=Subject.MACHINE,
        concurrency=Concurrency.ANY,
        statistic="CPU seconds over seconds",
        definition="Mean number of cores that the server used while the requests of its last load were measured.",
        example="30 CPU seconds in 20 s: 1.5 cores.",
        computed_by="storage/queries/sql/machines/conditions.sql",
        sources=(SAMPLES,),
        column=ListColumn("server_cores", "CPU of the server under load", 2, 276),
    ),
    RegisteredMetric(
        key="host_busy_ratio",
        title="CPU of the host under load",
        unit="0 to 1",
        higher_is_better=None,
        section=Section.POWER,
        subject=Subject.MACHINE,
        concurrency=Concurrency.ANY,
        statistic="mean",
        definition="Mean share of all cores in use by any process while its last load was measured, 0 to 1.",
        example="3 of 16 cores in use: 0.19.",
        computed_by="storage/queries/sql/machines/conditions.sql",
        sources=(SAMPLES,),
        column=ListColumn("host_busy", "CPU of the host under load", 3, 266),
    ),
    RegisteredMetric(
        key="starvation_ratio",
        title="CPU starvation",
        unit="0 to 1",
        higher_is_better=False,
        section=Section.POWER,
        subject=Subject.MACHINE,
        concurrency=Concurrency.ANY,
        statistic="seconds over seconds",
        definition="Share of the time in which the server's threads wanted a CPU that they waited for one, during its "
        "last load.",
        example="2 s of waiting and 8 s of running: 0.2.",
        computed_by="storage/queries/sql/machines/conditions.sql",
        sources=(SAMPLES,),
    ),
    RegisteredMetric(
        key="turn_s",
        title="Time per turn",
        unit="s",
        higher_is_better=False,
        section=Section.SESSIONS,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.ANY,
        statistic="mean",
        definition="Mean time of a turn of agent sessions, from sending it to the end of its answer, without the "
        "pauses of tools and people, over the turns that the compared loads share; of an agent task, over all of its "
        "turns.",
        example="Turns of 2, 2 and 11 s, the last with its prompt computed again: 5 s.",
        computed_by="analysis.evidence.session_values:mean_turn_s",
        sources=(CLIENT,),
        unknown=(Code.NO_SESSION,),
        objective="turn_s",
    ),
    RegisteredMetric(
        key="deep_ttft_ms",
        title="Time to first token at depth",
        unit="ms",
        higher_is_better=False,
        section=Section.SESSIONS,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.ANY,
        statistic="median",
        definition="Median time to first token of the last quarter of each agent session's turns, whose context is the "
        "deepest, over the turns that the compared loads share; of an agent task, over all of its sessions.",
        example="8 turns, the last two with their first tokens after 400 and 600 ms: 500 ms.",
        computed_by="analysis.evidence.session_values:deep_ttft_ms",
        sources=(CLIENT,),
        unknown=(Code.NO_SESSION,),
        objective="deep_ttft_ms",
    ),
    RegisteredMetric(
        key="session_j",
        title="Energy per session",
        unit="J",
        higher_is_better=False,
        section=Section.SESSIONS,
        subject=Subject.MACHINE,
        concurrency=Concurrency.ANY,
        statistic="joules over sessions",
        definition="Joules of the server's GPUs from the first to the end of the last request of loads of agent "
        "sessions, over the number of their sessions; idle time between turns counts.",
        example="12,000 J in a load of 4 sessions: 3,000 J.",
        computed_by="analysis.evidence.session_values:joules_a_session",
        sources=(SAMPLES,),
        unknown=(Code.NO_SESSION, Code.NO_ENERGY),
        objective="session_j",
    ),
    RegisteredMetric(
        key="solved_per_hour",
        title="Rate of solved tasks",
        unit="tasks/h",
        higher_is_better=True,
        section=Section.SESSIONS,
        subject=Subject.REQUESTS,
        concurrency=Concurrency.ANY,
        statistic="tasks over hours",
        definition="Repeats of agent tasks that were solved, over the hours that all agents worked, those of unsolved "
        "repeats too; copying folders and checking do not count.",
        example="9 of 10 repeats solved in 3 hours of agents' work: 3 tasks/h.",
        computed_by="analysis.comparison.replicates:solved_per_hour",
        sources=(CLIENT,),
        unknown=(Code.NO_TASK, Code.NONE_SOLVED),
        objective="solved_per_hour",
    ),
)
BY_KEY: Mapping[str, RegisteredMetric] = {metric.key: metric for metric in METRICS}
_POSITIONS = {key: position for position, key in enumerate(BY_KEY)}
BY_OBJECTIVE: Mapping[str, RegisteredMetric] = {metric.objective: metric for metric in METRICS if metric.objective}
LISTED = tuple(metric for metric in METRICS if metric.column)
LIST_COLUMNS: Mapping[str, RegisteredMetric] = {metric.column.name: metric for metric in LISTED if metric.column}


class MetricId(NamedTuple):
    """A metric at one concurrency; None for a metric without one, or of all requests.

    detail: the draft position, or the definition of a log's speed; '' for other metrics.
    """

    key: str
    concurrency: int | None = None
    detail: str = ""

    @property
    def definition(self) -> RegisteredMetric:
        return BY_KEY[self.key]

    @property
    def title(self) -> str:
        """'Time to first token, 4 at once, p95'."""
        title = f"{self.definition.title} {self.detail}" if self.detail else self.definition.title
        return ", ".join(filter(None, [title, concurrency_label(self.concurrency), self.definition.label]))


def listed_id(metric: RegisteredMetric) -> MetricId:
    """Return the metric of which the list of runs shows the value: of windows, that of one request alone."""
    return MetricId(metric.key, 1 if metric.concurrency is Concurrency.EACH else None)


def display_order(metric: MetricId) -> tuple[int, int]:
    """Return the position of a metric on pages: the registry's order, then by concurrency."""
    return _POSITIONS[metric.key], metric.concurrency or 0


def concurrency_label(concurrency: int | None) -> str:
    """Return 'one at a time', '4 at once' or, for 0, 'as they arrive'; '' without a concurrency."""
    if concurrency is None:
        return ""
    return {0: "as they arrive", 1: "one at a time"}.get(concurrency, f"{concurrency} at once")
