"""What tokens cost: energy, the part of it that idles, and money.

Formulas: idle share = power while nothing ran / mean power under load; cost of a million tokens =
(price of an hour + kilowatts * price of a kWh) / tokens an hour * 10^6.
Caveats: the energy is that of the GPUs alone, a machine takes more (fans, CPU, supply: often a third); a server that
waits for requests costs its hour all the same, so the cost is that of a server that is as busy as this load made it.
"""

from __future__ import annotations

J_PER_KWH = 3.6e6
S_PER_H = 3600.0
MILLION = 1e6


def idle_share(idle_w: float, load_w: float) -> float:
    """Power while no request ran, of the mean power under load."""
    return idle_w / load_w


def cost_per_million(output_tps: float, price_per_hour: float, power_w: float, price_per_kwh: float) -> float:
    """Money for a million output tokens at this speed, in the currency of the prices."""
    a_second = price_per_hour / S_PER_H + power_w * price_per_kwh / J_PER_KWH
    return a_second / output_tps * MILLION
