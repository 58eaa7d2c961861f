"""Cost of tokens: energy, its idle share, and money.

Formulas: idle share = power while nothing ran / mean power under load; cost of a million tokens =
(price of an hour + kilowatts * price of a kWh) / tokens an hour * 10^6.
Caveats: the energy is that of the GPUs only, a machine uses more (fans, CPU, power supply: often a third); an idle
server costs its hour too, so the cost is that of a server kept as busy as this load did.
"""

from __future__ import annotations

from dataclasses import dataclass

J_PER_KWH = 3.6e6
S_PER_H = 3600.0
MILLION = 1e6


@dataclass(frozen=True, slots=True, order=True)
class StatedPrices:
    """Prices that a study's plan states; one that it does not state is not counted."""

    currency: str
    per_hour: float = 0.0  # of the machine
    per_kwh: float = 0.0  # of electricity

    @property
    def text(self) -> str:
        """The prices that count: '1.2 EUR/h and 0.35 EUR/kWh'."""
        prices = ((self.per_hour, "h"), (self.per_kwh, "kWh"))
        return " and ".join(f"{price:g} {self.currency}/{unit}" for price, unit in prices if price)


def idle_share(idle_w: float, load_w: float) -> float:
    """Return power while no request ran over mean power under load."""
    return idle_w / load_w


def cost_of_work(seconds: float, energy_j: float, price_per_hour: float, price_per_kwh: float) -> float:
    """Return the cost of a machine for this time and energy, in the currency of the prices."""
    return seconds * price_per_hour / S_PER_H + energy_j * price_per_kwh / J_PER_KWH


def cost_per_million(output_tps: float, price_per_hour: float, power_w: float, price_per_kwh: float) -> float:
    """Return the cost of a million output tokens at this speed, in the currency of the prices."""
    cost_per_second = price_per_hour / S_PER_H + power_w * price_per_kwh / J_PER_KWH
    return cost_per_second / output_tps * MILLION
