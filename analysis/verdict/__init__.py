"""The statistics of a verdict: pure functions from replicates to an answer. See docs/answers/statistics.md."""

from analysis.verdict.difference import interval_of_ratio
from analysis.verdict.judgement import Answer, Judgement, judge, judge_arms
from analysis.verdict.margin import MARGIN, UnknownMarginError, margin_words, parse_margin
from analysis.verdict.repeats import half_width, repeats_for_same
from analysis.verdict.replicates import Earlier, earlier_of

__all__ = [
    "MARGIN",
    "Answer",
    "Earlier",
    "Judgement",
    "UnknownMarginError",
    "earlier_of",
    "half_width",
    "interval_of_ratio",
    "judge",
    "judge_arms",
    "margin_words",
    "parse_margin",
    "repeats_for_same",
]
