"""'tools-at-depth': the cases of the tool matrix after conversations of several lengths."""

from __future__ import annotations

from collections.abc import Iterator

from load_records import TOOLS_AT_DEPTH as NAME
from workloads.plan import Phase, Plan, PlannedRequest, Workload
from workloads.suites.cases import STREAMED, WHOLE
from workloads.suites.depths import DepthParams
from workloads.suites.tool_matrix import QUESTIONS, ToolCase
from workloads.suites.tool_set import BY_NAME
from workloads.texts.long_history import SeededDialogue


class ToolDepthParams(DepthParams):
    """Parameters of 'tools-at-depth'."""


def build(params: ToolDepthParams) -> Plan:
    """Return a plan of every case in both modes after each history, one after the other.

    Every request offers all tools, as an agent's does: the tools precede the history in the prompt, so the server's
    prefix cache keeps the history through all of its cases.
    """
    return [Phase("Tool calls at depth", "measure", 1, tuple(_requests(params)))]


def _requests(params: ToolDepthParams) -> Iterator[PlannedRequest]:
    sampling = params.sampling_for(params.max_tokens, params.temperature, ignore_eos=False)
    for tokens, number in params.histories():
        history = SeededDialogue(f"{params.seed} dialogue {number}", tokens)
        for question in QUESTIONS:
            for mode in (STREAMED, WHOLE):
                case = ToolCase(question, mode, sampling, tools=tuple(BY_NAME.values()), history=history, repeat=number)
                yield case.first_request()


TOOLS_AT_DEPTH = Workload(
    name=NAME,
    title="Tool calls at depth",
    summary="The matrix's cases after conversations of up to 100,000 tokens: until what depth do tool calls hold?",
    params_type=ToolDepthParams,
    build=build,
    has_cases=True,
)
