"""Statistics of a verdict: pure functions from replicates to an answer. See docs/answers/statistics.md."""

from analysis.verdict.causes import CauseReading, FactorEffect, FactorFinding, factor_effects, read_causes
from analysis.verdict.difference import interval_of_ratio
from analysis.verdict.judgement import Judgement, VerdictAnswer, judge
from analysis.verdict.margin import MARGIN, UnknownMarginError, format_margin, parse_margin
from analysis.verdict.ratio import Ratio
from analysis.verdict.replicates import EarlierSpread, pool_earlier_spread
from analysis.verdict.settling import MAX_REPEATS, SettlingRepeats

__all__ = [
    "MARGIN",
    "MAX_REPEATS",
    "CauseReading",
    "EarlierSpread",
    "FactorEffect",
    "FactorFinding",
    "Judgement",
    "Ratio",
    "SettlingRepeats",
    "UnknownMarginError",
    "VerdictAnswer",
    "factor_effects",
    "format_margin",
    "interval_of_ratio",
    "judge",
    "parse_margin",
    "pool_earlier_spread",
    "read_causes",
]
