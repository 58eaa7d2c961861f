"""The statistics of a study: which arm is best, looked at after every round. docs/studies.md explains them."""

from analysis.study.choice import FEWEST_ARMS, Choice, choose_k
from analysis.study.explore import Explored, explore
from analysis.study.measured import measured
from analysis.study.outlook import Left, starts_left
from analysis.study.prediction import MeasuredK, Prediction
from analysis.study.race import ArmState, End, Race, Seat, race, sd_of_starts

__all__ = [
    "FEWEST_ARMS",
    "ArmState",
    "Choice",
    "End",
    "Explored",
    "Left",
    "MeasuredK",
    "Prediction",
    "Race",
    "Seat",
    "choose_k",
    "explore",
    "measured",
    "race",
    "sd_of_starts",
    "starts_left",
]
