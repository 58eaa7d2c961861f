"""Formulas and caveats of the numbers in the Physics section."""

from __future__ import annotations

KV = (
    "layers × KV heads × (key size + value size) × bytes per number, over all ranks, from the model's config.json. "
    "Partly filled pages, the draft's layers and states of constant size are left out."
)
FIT = (
    "the KV pool over what a request of this length holds: by the engine's own blocks or pools if its log states "
    "them, else by bytes, which is an upper bound. Layers with a sliding window hold only their window."
)
SHARE = (
    "decode tok/s over requests × tokens per step × bandwidth / bytes read per step (weights once, keys and "
    "values of each request if known, k passes of the draft). Weight memory overestimates what is read, "
    "so the share may be too high; of a mixture of experts, only the experts in use count."
)
PLAIN_MEANING = "the same limit with one token per step: only speculation can exceed 100 %"
EVEN = (
    "1 + k × bytes of the draft / bytes of the model: the tokens per step at which speculation costs as much as "
    "it gains, if a step's duration is proportional to the bytes it reads. Comparing with a twin without "
    "speculation is more accurate: Compare."
)
CHANCE = "the probability at which every draft token would have to be accepted to give this acceptance length"
BEST = (
    "highest (1 + sum of the shares accepted up to each position) / (1 + k × cost of a draft), for k up to the "
    "drafted number. The interval resamples drafts as if they were independent; real text is not, so it is too narrow."
)
POSITION = "share of all drafts of which the tokens up to this position were accepted"
TOKENS_BY_K = "1 + the sum of these shares: what this many draft tokens give, if positions keep their acceptance"
BANDS = (
    "two Gaussians on the acceptance length of active windows if BIC falls by more than 6, D is above 2, each "
    "has more than 10 % and there are 12 windows or more; else one band"
)
JOULE = "output tokens of Pitwall's measured requests over GPU energy; the rest of the machine is not included"
IDLE = "GPU power while no request ran, over mean GPU power under Pitwall's load"
COST = (
    "(price per hour + kW × price per kWh) / output tokens per hour × 10⁶, at the speed of Pitwall's load: an idle "
    "server still costs its hourly price. Power is that of the GPUs only."
)
RESTART = "time to ready × typical decode speed: the output tokens not served meanwhile"
PHASES = "as stated in the log, nested phases subtracted; they sum to the time to ready"
