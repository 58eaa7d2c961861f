"""The guard's rows in words: what the row is called, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.guard import Row, RowCode, Standing
from web.words import Names, why

Values = Mapping[str, Any]

TITLES: Mapping[RowCode, str] = {
    RowCode.MODEL: "Model",
    RowCode.ENGINE: "Engine and version",
    RowCode.QUANTIZATION: "Quantization",
    RowCode.KV_DTYPE: "KV cache dtype",
    RowCode.SETTINGS: "Other settings",
    RowCode.SAMPLING: "Sampling on the server",
    RowCode.HARDWARE: "Machine and GPUs",
    RowCode.GPU_LIMITS: "GPU limits",
    RowCode.WORKLOAD: "Workload",
    RowCode.PROMPTS: "Prompts",
    RowCode.CONCURRENCY: "Concurrency",
    RowCode.CONTEXT: "Context depth",
    RowCode.PREFIX_CACHE: "Prefix cache",
    RowCode.WARMUP: "Warm-up",
    RowCode.UNFINISHED: "Whole load",
    RowCode.FAILED: "Failed requests",
    RowCode.LENGTHS: "Output lengths",
    RowCode.LOOPS: "Looping answers",
    RowCode.THROTTLING: "GPU clocks",
    RowCode.STARVATION: "CPU starvation",
    RowCode.CLIENT: "Client on time",
    RowCode.GPU_SHARED: "Others on the GPUs",
    RowCode.NEIGHBOURS: "Other runs meanwhile",
    RowCode.DEFINITION: "Definition of speed",
}
STANDINGS: Mapping[Standing, str] = {
    Standing.SAME: "same",
    Standing.COMPARED: "compared",
    Standing.TOLD: "note",
    Standing.MATTERS: "not comparable",
    Standing.UNKNOWN: "not known",
}


def row_words(row: Row, names: Names) -> str:
    """What a row found, without its title and without a stop: 'Qwen3-32B and Llama-3.2-1B'."""
    return "; ".join(row_parts(row, names))


def row_parts(row: Row, names: Names) -> list[str]:
    """The words of a row: of settings each for itself, of anything else in one piece."""
    if row.values.get("not_needed"):
        return ["not needed for this"]
    if row.values.get("no_gpu"):
        return ["these machines have no GPU"]
    if WORDS[row.code] is _fields and row.values.get("fields"):
        return [f"{name}: {_change(pair)}" for name, pair in row.values["fields"].items()]
    return [WORDS[row.code](row.values, names)]


def _change(pair: Sequence[Any]) -> str:
    """One setting, first the baseline's and then the other arm's: 'not stated → 6'."""
    return " \u2192 ".join(str(value or "not stated") for value in pair)


def pair_words(pair: Sequence[Any], form: Callable[[Any], str] = str) -> str:
    """What both arms have: 'A and B', 'A' where it is the same, 'not known' for None."""
    first, second = ("not known" if one is None else form(one) for one in pair)
    return first if first == second else f"{first} and {second}"


def percent(share: float) -> str:
    """A share of 0 to 1 in whole percent: '12 %'."""
    return f"{100 * share:.0f} %"


def _fields(values: Values, names: Names) -> str:
    return "alike" if "fields" in values else "the configuration of an arm is not known"


def _model(values: Values, names: Names) -> str:
    return pair_words(values["models"]) + (": their files differ" if values.get("files_differ") else "")


def _engine(values: Values, names: Names) -> str:
    return f"{pair_words(values['engines'])}, version {pair_words(values['versions'])}"


def _hardware(values: Values, names: Names) -> str:
    machines = [", ".join(one) for one in values["machines"]]
    gpus = [None if gpu is None else ", ".join(gpu) or "no GPU" for gpu in values["gpus"]]
    same = "one machine" if machines[0] == machines[1] else f"machines {pair_words(machines)}"
    return f"{same}, {pair_words(gpus)}" if any(gpu is not None for gpu in gpus) else same


LIMIT_WORDS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "power_limit_w": ("power limit", "{:.0f} W".format),
    "application_clock_mhz": ("application clock", "{:.0f} MHz".format),
    "mig": ("MIG", lambda one: "on" if one else "off"),
    "ecc": ("ECC", lambda one: "on" if one else "off"),
    "persistence": ("persistence mode", lambda one: "on" if one else "off"),
    "driver": ("driver", str),
}


def _gpu_limits(values: Values, names: Names) -> str:
    words = [
        f"{title} {pair_words([_limit(one, form) for one in values['fields'][name]])}"
        for name, (title, form) in LIMIT_WORDS.items()
        if name in values["fields"] and name not in values.get("unknown", ())
    ]
    if unknown := values.get("unknown"):
        words.append(f"not looked at: {', '.join(LIMIT_WORDS[name][0] for name in unknown)}")
    return "; ".join(words) + (": the slices are not known" if values.get("sliced") else "")


def _limit(runs: Sequence[Any], form: Callable[[Any], str]) -> str:
    """Each value that the GPUs of an arm's runs have, once."""
    each = dict.fromkeys(value for run in runs for value in run or (None,))
    return " or ".join("not known" if value is None else form(value) for value in each)


def _workload(values: Values, names: Names) -> str:
    if values.get("missing"):
        return "an arm had no load of ours: what was asked of it is not known"
    words = [", ".join(filter(None, one)) or "none" for one in values["workloads"]]
    if values.get("params"):
        return f"{pair_words(words)}: set differently in {', '.join(values['params'])}"
    return pair_words(words) + (", as their owner declared" if values.get("declared") else "")


def _prompts(values: Values, names: Names) -> str:
    if not values["measured"]:
        return "no request of ours"
    return f"{values['matched']} of {values['measured']} requests are shared by all runs"


def _concurrency(values: Values, names: Names) -> str:
    if values["wanted"] is None:
        return "not needed for this"
    if not any(values["targets"]):
        return f"{values['wanted']} at once; what the loads had only their requests would show"
    targets = [" and ".join(map(str, one)) or "none" for one in values["targets"]]
    return f"{values['wanted']} at once; the loads aimed at {pair_words(targets)}"


def _context(values: Values, names: Names) -> str:
    if not any(values["prompt_tokens"]):
        return "the length of the prompts in tokens is not known"
    return f"{pair_words(values['prompt_tokens'], '{:.0f}'.format)} prompt tokens (median)"


def _prefix(values: Values, names: Names) -> str:
    return f"share of the prompt tokens that came from the cache: {pair_words(values['cached_share'], percent)}"


def _warmup(values: Values, names: Names) -> str:
    warm = [" and ".join("warm" if one else "cold" for one in each) or "not known" for each in values["warm"]]
    return {"warm": "each load began with requests that do not count", "cold": "no load was warmed up"}.get(
        pair_words(warm), pair_words(warm)
    )


def _unfinished(values: Values, names: Names) -> str:
    if not values.get("unsent"):
        return "all of it was sent and ended"
    words = [
        f"{names[run_id]} {'goes on' if run_id in values['live'] else 'was broken off'}"
        + (f": {unsent} requests are missing" if unsent else "")
        for run_id, unsent in values["unsent"].items()
    ]
    return "; ".join(words)


def _failed(values: Values, names: Names) -> str:
    if not any(failures for failures, _ in values["failed"]):
        return "none"
    return pair_words(values["failed"], lambda one: f"{one[0]} of {one[1]}")


def _lengths(values: Values, names: Names) -> str:
    if not values:
        return "no answer is shared"
    tokens = pair_words(values["tokens"], "{:.0f}".format)
    return f"{tokens} tokens (median of {values['prompt_class']}): {values['ratio']:.2f}×"


def _loops(values: Values, names: Names) -> str:
    if not values:
        return "the answers were not judged"
    past = ", in text that was asked to go on past the answer's end" if values["past_the_end"] else ""
    return f"{pair_words(values['looped'], percent)} of the text repeats itself{past}"


MEASURES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "starvation_ratio": ("of the time that its threads wanted a CPU they waited for one", percent),
    "throttled_ratio": ("of the time held back by its CPU limit", percent),
    "steal_ratio": ("of the CPU time taken by other machines on the host", percent),
    "hardware_throttled": ("slowed down by heat or power", lambda one: "yes" if one else "no"),
    "throttle_bits": ("NVML reasons", hex),
    "power_capped": ("held at the power limit", lambda one: "yes" if one else "no"),
    "sm_clock_mhz_median": ("MHz (median)", "{:.0f}".format),
    "memory_clock_mhz_median": ("MHz of its memory (median)", "{:.0f}".format),
    "other_gpu_utilization": ("of the time others used its GPUs", percent),
    "other_gpu_memory_bytes": ("GiB held by others", lambda one: f"{one / 2**30:.1f}"),
}


def _measured(values: Values, names: Names) -> str:
    words = []
    for name, arms in values["found"].items():
        unit, form = MEASURES[name]
        worst = [max((one for one in arm if one is not None), default=None) for arm in arms]
        if any(one is not None for one in worst):
            words.append(f"{pair_words(worst, form)} {unit}")
    if values.get("may_explain"):
        words.append("the slower arm waited longer, which may be half of the difference or more")
    return "; ".join(words) or "; ".join(why(reason) or "" for reason in values["reasons"]) or "it was not measured"


def _client(values: Values, names: Names) -> str:
    if all(share is None for share in values["late"]):
        return "whether it was kept from the CPU was not recorded then"
    return f"its wait for a CPU may have moved an answer's time by {pair_words(values['late'], percent)}"


def _neighbours(values: Values, names: Names) -> str:
    neighbours = values.get("sharing") or values.get("beside") or {}
    if not neighbours:
        return "none worked on this machine"
    where = "on the same GPUs or CPUs" if values.get("sharing") else "on other GPUs of the machine"
    first, *more = neighbours
    those = f"{names[first]} and {len(more)} more" if more else names[first]
    return f"others worked {where} beside {those}"


def _definition(values: Values, names: Names) -> str:
    if values.get("client"):
        return "measured by our own client"
    return pair_words([", ".join(str(d[0]) if d else "not known" for d in one) for one in values["definitions"]])


WORDS: Mapping[RowCode, Callable[[Values, Names], str]] = {
    RowCode.MODEL: _model,
    RowCode.ENGINE: _engine,
    RowCode.QUANTIZATION: _fields,
    RowCode.KV_DTYPE: _fields,
    RowCode.SETTINGS: _fields,
    RowCode.SAMPLING: _fields,
    RowCode.HARDWARE: _hardware,
    RowCode.GPU_LIMITS: _gpu_limits,
    RowCode.WORKLOAD: _workload,
    RowCode.PROMPTS: _prompts,
    RowCode.CONCURRENCY: _concurrency,
    RowCode.CONTEXT: _context,
    RowCode.PREFIX_CACHE: _prefix,
    RowCode.WARMUP: _warmup,
    RowCode.UNFINISHED: _unfinished,
    RowCode.FAILED: _failed,
    RowCode.LENGTHS: _lengths,
    RowCode.LOOPS: _loops,
    RowCode.THROTTLING: _measured,
    RowCode.STARVATION: _measured,
    RowCode.CLIENT: _client,
    RowCode.GPU_SHARED: _measured,
    RowCode.NEIGHBOURS: _neighbours,
    RowCode.DEFINITION: _definition,
}
