"""A store for played runs, as the comparison's own tests have it."""

from tests.known_truth.conftest import played

__all__ = ["played"]
