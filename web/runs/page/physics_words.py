"""What each number of the Physics section is: its formula and what is to be known of it."""

from __future__ import annotations

KV = (
    "layers × KV heads × (size of a key + of a value) × bytes of a number, over all ranks, from the model's "
    "config.json. Pages that are not full, a draft's layers and states of constant size are left out."
)
FIT = (
    "the KV pool over what a request of this length keeps: by the engine's own blocks or pools where its log "
    "states them, else by bytes alone, which is an upper bound. Layers with a sliding window keep their window."
)
SHARE = (
    "decode tok/s over requests × tokens per step × bandwidth / bytes read in a step (weights once, keys and "
    "values of each request where known, k passes of the draft). Memory of the weights over-counts what is read, "
    "so a share may be too high; of a mixture only the experts that are used count."
)
PLAIN = "the same limit with one token a step: above 100 % only speculation can be"
EVEN = (
    "1 + k × bytes of the draft / bytes of the model: the tokens per step at which speculation costs as much as "
    "it gains, if a step lasts as long as the bytes that it reads. Counting a twin without speculation says it "
    "better: Compare."
)
CHANCE = "the probability at which every draft token would have to be accepted to give this acceptance length"
BEST = (
    "highest (1 + sum of the shares accepted up to each position) / (1 + k × cost of a draft), k up to what was "
    "drafted. The interval resamples drafts as if they were independent, which texts are not: it is too narrow."
)
BANDS = (
    "two Gaussians on the acceptance length of active windows where BIC falls by more than 6, D is above 2, each "
    "has more than 10 % and there are 12 windows or more; else one band"
)
JOULE = "output tokens of our measured requests over the energy of its GPUs; the rest of the machine is not in it"
IDLE = "power of its GPUs while no request ran over their mean power under our load"
COST = (
    "(price of an hour + kW × price of a kWh) / output tokens an hour × 10⁶, at the speed of our load: a server "
    "that waits costs its hour all the same. Power is that of the GPUs alone."
)
RESTART = "time to ready × typical decode speed: output tokens that are not served meanwhile"
PHASES = "as the log states them, one inside another taken out of it; they sum to the time to ready"
