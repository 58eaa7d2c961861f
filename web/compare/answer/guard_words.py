"""Texts of the guard's rows: titles, statuses and findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from analysis.guard import GuardRow, RowCode, RowStatus
from analysis.loads.fidelity import FidelityAnswer
from domain import is_unknown_machine
from reports.runs.run_report import engine_title_of
from web.words import Names, reason_text

Values = Mapping[str, Any]

TITLES: Mapping[RowCode, str] = {
    RowCode.MODEL: "Model",
    RowCode.ENGINE: "Engine and version",
    RowCode.QUANTIZATION: "Quantization",
    RowCode.KV_DTYPE: "KV cache dtype",
    RowCode.SETTINGS: "Other settings",
    RowCode.SAMPLING: "Sampling on the server",
    RowCode.FORCED_ACCEPTANCE: "Forced acceptance",
    RowCode.HARDWARE: "Machine and GPUs",
    RowCode.GPU_LIMITS: "GPU limits",
    RowCode.WORKLOAD: "Workload",
    RowCode.PROMPTS: "Prompts",
    RowCode.CONCURRENCY: "Concurrency",
    RowCode.CONTEXT: "Context depth",
    RowCode.PREFIX_CACHE: "Prefix cache",
    RowCode.WARMUP: "Warm-up",
    RowCode.UNFINISHED: "Complete load",
    RowCode.FAILED: "Failed requests",
    RowCode.RESTARTS: "Server restarts",
    RowCode.STALLS: "Stalled requests",
    RowCode.LENGTHS: "Output lengths",
    RowCode.LOOPS: "Looping answers",
    RowCode.QUALITY: "Same answers",
    RowCode.THROTTLING: "GPU clocks",
    RowCode.STARVATION: "CPU starvation",
    RowCode.CLIENT: "Client on time",
    RowCode.GPU_SHARED: "Others on the GPUs",
    RowCode.NEIGHBOURS: "Other runs meanwhile",
    RowCode.DEFINITION: "Definition of speed",
}
STANDING_LABELS: Mapping[RowStatus, str] = {
    RowStatus.SAME: "same",
    RowStatus.COMPARED: "intended",
    RowStatus.TOLD: "note",
    RowStatus.MATTERS: "not comparable",
    RowStatus.UNKNOWN: "not known",
}

REQUESTS_UNKNOWN = "no request of a load is known"
CONFIGURATION_UNKNOWN = "the configuration of one arm is not known"
UNKNOWN_ROWS: Mapping[RowCode, str] = {  # texts of rows that are not known, where ROW_TEXTS has only the others
    RowCode.FORCED_ACCEPTANCE: CONFIGURATION_UNKNOWN,
    RowCode.UNFINISHED: REQUESTS_UNKNOWN,
    RowCode.FAILED: REQUESTS_UNKNOWN,
    RowCode.STALLS: REQUESTS_UNKNOWN,
    RowCode.RESTARTS: "the counters of a load are not known",
    RowCode.NEIGHBOURS: "the machine of one arm is not known",
}


def row_text(row: GuardRow, names: Names) -> str:
    """Return a row's finding without title or full stop: 'Qwen3-32B and Llama-3.2-1B'."""
    return "; ".join(row_texts(row, names))


def row_texts(row: GuardRow, names: Names) -> list[str]:
    """Return a row's finding in parts: one per differing setting, else a single text."""
    if row.values.get("not_needed"):
        return ["not needed for this comparison"]
    if row.values.get("no_gpu"):
        return ["these machines have no GPU"]
    if row.status is RowStatus.UNKNOWN and row.code in UNKNOWN_ROWS:
        return [UNKNOWN_ROWS[row.code]]
    if ROW_TEXTS[row.code] is _settings and row.values.get("fields"):
        return [f"{name}: {_setting_change(pair)}" for name, pair in row.values["fields"].items()]
    return [ROW_TEXTS[row.code](row.values, names)]


def _setting_change(pair: Sequence[Any]) -> str:
    """One setting, the baseline's value and then the other arm's: 'not stated → 6'; paths are shortened."""
    values = [str(value or "not stated") for value in pair]
    ends = [PurePath(value).name if value.startswith("/") else value for value in values]
    return " \u2192 ".join(ends if ends[0] != ends[1] else values)


def pair_text(pair: Sequence[Any], format_value: Callable[[Any], str] = str) -> str:
    """Return both arms' values: 'A and B', or 'A' if equal; None is 'not known'."""
    first, second = ("not known" if value is None else format_value(value) for value in pair)
    return first if first == second else f"{first} and {second}"


def percent(share: float, digits: int = 0) -> str:
    """Format a fraction of 0 to 1 in percent: '12 %', or '12.3 %' with one digit."""
    return f"{100 * share:.{digits}f} %"


def _settings(values: Values, names: Names) -> str:
    return "same" if "fields" in values else CONFIGURATION_UNKNOWN


def _model_text(values: Values, names: Names) -> str:
    return pair_text(values["models"]) + (": their files differ" if values.get("files_differ") else "")


def _engine_text(values: Values, names: Names) -> str:
    if not any(values["engines"]):
        return engine_title_of(None)
    return f"{pair_text(values['engines'], engine_title_of)}, version {pair_text(values['versions'])}"


def _forced_acceptance_text(values: Values, names: Names) -> str:
    if values["switches"] == (None, None):
        return "no server was forced to accept drafts"
    switches = [switch or "not forced" for switch in values["switches"]]
    return f"{pair_text(switches)}: such text is not the model's, and its speed is not real"


def _hardware_text(values: Values, names: Names) -> str:
    machines = [None if any(map(is_unknown_machine, side)) else ", ".join(side) for side in values["machines"]]
    gpus = [None if gpu is None else ", ".join(gpu) or "no GPU" for gpu in values["gpus"]]
    is_one_machine = machines[0] == machines[1] and machines[0] is not None
    machine_text = "one machine" if is_one_machine else f"machines {pair_text(machines)}"
    return f"{machine_text}, {pair_text(gpus)}" if any(gpu is not None for gpu in gpus) else machine_text


GPU_LIMITS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "power_limit_w": ("power limit", "{:.0f} W".format),
    "application_clock_mhz": ("application clock", "{:.0f} MHz".format),
    "mig": ("MIG", lambda is_on: "on" if is_on else "off"),
    "ecc": ("ECC", lambda is_on: "on" if is_on else "off"),
    "persistence": ("persistence mode", lambda is_on: "on" if is_on else "off"),
    "driver": ("driver", str),
}


def _gpu_limits_text(values: Values, names: Names) -> str:
    parts = [
        f"{title} {pair_text([_limit_values(gpu_values, format_value) for gpu_values in values['fields'][name]])}"
        for name, (title, format_value) in GPU_LIMITS.items()
        if name in values["fields"] and name not in values.get("unknown", ())
    ]
    if unknown := values.get("unknown"):
        parts.append(f"not checked: {', '.join(GPU_LIMITS[name][0] for name in unknown)}")
    return "; ".join(parts) + (": the MIG slices are not known" if values.get("sliced") else "")


def _limit_values(runs: Sequence[Any], format_value: Callable[[Any], str]) -> str:
    """The distinct values of the GPUs of an arm's runs."""
    values = dict.fromkeys(value for run in runs for value in run or (None,))
    return " or ".join("not known" if value is None else format_value(value) for value in values)


RECORDED_TEXT = (
    "recorded from other clients: no two recordings are the same work. To compare, save the shape of one (Run, Agent "
    "sessions), and put the load Agent replay with it on both"
)


def _workload_text(values: Values, names: Names) -> str:
    if values.get("is_recorded"):
        return RECORDED_TEXT
    if values.get("missing"):
        return "load unknown: not sent by Pitwall"
    arm_workloads = [", ".join(filter(None, workload_names)) or "none" for workload_names in values["workloads"]]
    if values.get("params"):
        return f"{pair_text(arm_workloads)}: different settings of {', '.join(values['params'])}"
    return pair_text(arm_workloads) + (", as declared by their owner" if values.get("declared") else "")


def _prompts_text(values: Values, names: Names) -> str:
    if not values["measured"]:
        return "no request by Pitwall"
    shared = f"all runs share {values['matched']} of {values['measured']} requests"
    text = shared if values["matched"] == values["measured"] else f"prompts differ: {shared}"
    own_answers_words = "; in later prompts the answers are each server's own, of the same lengths"
    return text + own_answers_words if values.get("has_own_answers") else text


def _concurrency_text(values: Values, names: Names) -> str:
    if values["wanted"] is None:
        return "not needed for this comparison"
    if not any(values["targets"]):
        return f"{values['wanted']} at once; the loads' own concurrency is not known"
    targets = [" and ".join(map(str, arm_targets)) or "none" for arm_targets in values["targets"]]
    return f"{values['wanted']} at once; the loads' targets are {pair_text(targets)}"


def _context_text(values: Values, names: Names) -> str:
    if not any(values["prompt_tokens"]):
        return "prompt lengths in tokens are not known"
    return f"{pair_text(values['prompt_tokens'], '{:.0f}'.format)} prompt tokens (median)"


def _prefix_cache_text(values: Values, names: Names) -> str:
    return f"share of prompt tokens from the cache: {pair_text(values['cached_share'], percent)}"


def _restarts_text(values: Values, names: Names) -> str:
    if not values["runs"]:
        return "one server process during each load, as far as its counters show"
    return f"the server process was replaced during the load of {', '.join(names[run_id] for run_id in values['runs'])}"


def _stalls_text(values: Values, names: Names) -> str:
    if not any(values["stalled_s"]):
        return "no request waited far longer for its first token than the others"
    return f"the longest wait for a first token beside short ones: {pair_text(values['stalled_s'], '{:.0f}'.format)} s"


def _warmup_text(values: Values, names: Names) -> str:
    if values.get("slowness"):
        times = pair_text(values["slowness"], "{:.2f}×".format)
        return f"the first measured requests took {times} as long per token as the same ones later"
    states = [
        " and ".join("warm" if is_warm else "cold" for is_warm in arm_loads) or "not known"
        for arm_loads in values["warm"]
    ]
    return {"warm": "each load began with warm-up requests", "cold": "no load was warmed up"}.get(
        pair_text(states), pair_text(states)
    )


def _unfinished_text(values: Values, names: Names) -> str:
    if not values.get("unsent"):
        return "all requests were sent and finished"
    parts = [
        f"{names[run_id]} {'is still running' if run_id in values['live'] else 'was interrupted'}"
        + (f": {unsent} requests are missing" if unsent else "")
        for run_id, unsent in values["unsent"].items()
    ]
    return "; ".join(parts)


def _failed_text(values: Values, names: Names) -> str:
    if not any(failures for failures, _ in values["failed"]):
        return "none"
    return pair_text(values["failed"], lambda counts: f"{counts[0]} of {counts[1]}")


def _lengths_text(values: Values, names: Names) -> str:
    if not values:
        return "no answers to the same request"
    tokens = pair_text(values["tokens"], "{:.0f}".format)
    text = f"{tokens} tokens (median of {values['prompt_class']}): {values['ratio']:.2f}×"
    explained = values.get("explains")
    return (
        f"{text}, which alone would make {explained:.2f}×, since prefill weighs less in longer answers"
        if explained
        else text
    )


def _loops_text(values: Values, names: Names) -> str:
    if not values:
        return "the answers were not judged"
    context_note = ", in text generated past the answer's end on request" if values["past_the_end"] else ""
    return f"{pair_text(values['looped'], percent)} of the text is looping{context_note}"


FIDELITY_ANSWERS: Mapping[str, str] = {
    FidelityAnswer.DIFFERS: "they differ more than two starts of the baseline do",
    FidelityAnswer.SAME: "they differ no more than two starts of the baseline do, within {margin}",
    FidelityAnswer.UNDECIDED: "it is not yet known whether they differ more than two starts of the baseline do",
    FidelityAnswer.NO_FLOOR: "its own was not measured, which takes a second start of it",
}


CHANGES: Mapping[RowCode, str] = {
    RowCode.ENGINE: "another engine",
    RowCode.QUANTIZATION: "other weights",
    RowCode.KV_DTYPE: "another KV cache type",
}


def _quality_text(values: Values, names: Names) -> str:
    if "unchanged" in values:
        states = "the same" if values["unchanged"] else "not known to be the same"
        return f"engine, weights and KV cache are {states}; not compared"
    if "reason" in values:
        changed = " and ".join(CHANGES[code] for code in values["changed"])
        return f"not compared{f' ({changed})' if changed else ''}: {reason_text(values['reason'])}"
    return f"{agreement_text(values, 'the first arm')}; {fidelity_answer_text(values)}"


def agreement_text(values: Values, reference: str) -> str:
    """Return 'first choice as A's at 97.9 % of places (97.1 to 98.5; A's own: 99.6 %)'."""
    share, low, high = values["agreement"]
    interval = "" if low is None else f"{100 * low:.1f} to {100 * high:.1f}"
    own_words = f"{reference}'s own: {percent(values['floor'][0], 1)}" if values["floor"] else ""
    note = "; ".join(filter(None, (interval, own_words)))
    return f"first choice as {reference}'s at {percent(share, 1)} of places" + (f" ({note})" if note else "")


def fidelity_answer_text(values: Values) -> str:
    """Return what the agreement means: 'they differ more than two starts of the baseline do'."""
    points = f"{100 * values['margin']:g} point{'' if values['margin'] == 0.01 else 's'}"
    return FIDELITY_ANSWERS[values["answer"]].format(margin=points)


MEASURES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "starvation_ratio": ("of the time, threads waited for a core", percent),
    "wait_share": ("of the time, in which a thread waited", percent),
    "throttled_ratio": ("of the time throttled by its CPU limit", percent),
    "steal_ratio": ("of the CPU time taken by other machines on the host", percent),
    "hardware_throttled": ("slowed by heat or power", lambda is_slowed: "yes" if is_slowed else "no"),
    "throttle_bits": ("NVML reasons", hex),
    "power_capped": ("at the power limit", lambda is_capped: "yes" if is_capped else "no"),
    "sm_clock_mhz_median": ("MHz (median)", "{:.0f}".format),
    "memory_clock_mhz_median": ("MHz memory clock (median)", "{:.0f}".format),
    "other_gpu_utilization": ("of the time in which other processes used its GPUs", percent),
    "other_gpu_memory_bytes": ("GiB used by other processes", lambda size_bytes: f"{size_bytes / 2**30:.1f}"),
}


def _measured_text(values: Values, names: Names) -> str:
    parts = []
    for name, arms in values["found"].items():
        unit, format_value = MEASURES[name]
        worst = [max((reading for reading in arm if reading is not None), default=None) for arm in arms]
        if any(reading is not None for reading in worst):
            parts.append(f"{pair_text(worst, format_value)} {unit}")
    if values.get("may_explain"):
        parts.append("the slower arm waited longer, which may explain half of the difference or more")
    return (
        "; ".join(parts)
        or "; ".join(reason_text(reason) or "" for reason in values["reasons"])
        or "it was not measured"
    )


def _client_text(values: Values, names: Names) -> str:
    if all(share is None for share in values["late"]):
        return "the client's CPU waits were not recorded at the time"
    return f"CPU waits may have changed the client's measured times by {pair_text(values['late'], percent)}"


def _neighbours_text(values: Values, names: Names) -> str:
    neighbours = values.get("sharing") or values.get("beside") or {}
    if not neighbours:
        return "no other run was active on this machine"
    location = "on the same GPUs or CPUs" if values.get("sharing") else "on other GPUs of the machine"
    first, *further_ids = neighbours
    neighbour_names = f"{names[first]} and {len(further_ids)} more" if further_ids else names[first]
    return f"other runs were active {location} during {neighbour_names}"


def _definition_text(values: Values, names: Names) -> str:
    if values.get("client"):
        return "measured by Pitwall's client"
    return pair_text(
        [
            ", ".join(str(d[0]) if d else "not known" for d in arm_definitions)
            for arm_definitions in values["definitions"]
        ]
    )


ROW_TEXTS: Mapping[RowCode, Callable[[Values, Names], str]] = {
    RowCode.MODEL: _model_text,
    RowCode.ENGINE: _engine_text,
    RowCode.QUANTIZATION: _settings,
    RowCode.KV_DTYPE: _settings,
    RowCode.SETTINGS: _settings,
    RowCode.SAMPLING: _settings,
    RowCode.FORCED_ACCEPTANCE: _forced_acceptance_text,
    RowCode.HARDWARE: _hardware_text,
    RowCode.GPU_LIMITS: _gpu_limits_text,
    RowCode.WORKLOAD: _workload_text,
    RowCode.PROMPTS: _prompts_text,
    RowCode.CONCURRENCY: _concurrency_text,
    RowCode.CONTEXT: _context_text,
    RowCode.PREFIX_CACHE: _prefix_cache_text,
    RowCode.WARMUP: _warmup_text,
    RowCode.UNFINISHED: _unfinished_text,
    RowCode.FAILED: _failed_text,
    RowCode.RESTARTS: _restarts_text,
    RowCode.STALLS: _stalls_text,
    RowCode.LENGTHS: _lengths_text,
    RowCode.LOOPS: _loops_text,
    RowCode.QUALITY: _quality_text,
    RowCode.THROTTLING: _measured_text,
    RowCode.STARVATION: _measured_text,
    RowCode.CLIENT: _client_text,
    RowCode.GPU_SHARED: _measured_text,
    RowCode.NEIGHBOURS: _neighbours_text,
    RowCode.DEFINITION: _definition_text,
}
