"""Statistics of a study: the best arm, judged after every round. docs/studies.md explains them."""

from analysis.study.choice import FEWEST_ARMS, StudyChoice, choose_k
from analysis.study.explore import ExplorationStep, explore
from analysis.study.outlook import StartsLeft, starts_left
from analysis.study.prediction import MeasuredK, Prediction
from analysis.study.race import ArmState, Race, RaceEnd, Seat, race, sd_of_starts
from analysis.study.single_arm import single_arm_race

__all__ = [
    "FEWEST_ARMS",
    "ArmState",
    "ExplorationStep",
    "MeasuredK",
    "Prediction",
    "Race",
    "RaceEnd",
    "Seat",
    "StartsLeft",
    "StudyChoice",
    "choose_k",
    "explore",
    "race",
    "sd_of_starts",
    "single_arm_race",
    "starts_left",
]
