"""Pitwall's own prompts by class; `FIVE` has the five classes of the five-prompts workload."""

from __future__ import annotations

WARMUP = "Say in one sentence what a pit wall is."

FIVE: dict[str, str] = {
    "Q&A": (
        "Explain to a new member of a racing team why tyres must be warm before they grip. "
        "Say what happens in the rubber, how a driver warms them, and what goes wrong when they are too hot."
    ),
    "Code": (
        "Write a Python function `merge_intervals(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]` that "
        "joins overlapping intervals, with type hints, a docstring, and five pytest tests that cover the edge cases."
    ),
    "JSON": (
        "Return only JSON: an array of twelve race cars. Each object has the keys id (integer), team (string), "
        "driver (object with name, age, country), laps (array of four objects with number, seconds, tyre) and "
        "retired (boolean). Make the values up, keep the keys in this order, and indent by two spaces."
    ),
    "Math": "A car does 57 laps of 5.412 km each. How many kilometres is that? Answer with the number alone.",
    "LongCode": (
        "Write one complete Python module for a lap timing service: dataclasses for Car, Lap and Session; a store on "
        "sqlite3 with its schema; functions for the fastest lap, the gap to the leader and the average of a stint; a "
        "command line with the subcommands add, list and report; logging; and unit tests for every function. "
        "Give the whole file, with type hints and docstrings, and leave nothing out."
    ),
}

PARALLEL: tuple[str, ...] = (
    "Write a detailed guide for a first-time race engineer: the day before, the race, and the day after.",
    "Describe step by step how a pit stop works, person by person, and what can go wrong at each step.",
    "Write a long story about a mechanic who hears from the sound of an engine what is wrong with it.",
    "Compare three strategies for a wet race that dries: when to stop, on which tyres, and how to decide.",
)

SINGLE = (
    "Describe how a team decides during a race when to call the car in, "
    "which numbers it looks at and who has the last word."
)

DEMO: tuple[str, ...] = (
    "Tell me about the last lap of the race.",
    "What does the engineer say on the radio when the rain comes?",
    "Describe the pit stop of the leader in all its steps.",
    "Who was fast in the second sector, and why?",
    "Talk about the long straight and the slow corner at its end.",
    "Explain the plan of the team for the second stint.",
    "What goes through a driver's head before the start?",
    "Tell the story of the yellow flag and the safety car.",
)
