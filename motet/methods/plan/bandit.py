"""The choice among algorithms in PlanGEN: an upper confidence bound with a language model's prior."""

from dataclasses import dataclass
from math import log, sqrt


@dataclass
class Arm:
    """What is known of one algorithm.

    Args:
        R: its rewards together, each from 0 to 1.
        N: how often it was run.
        rescues: how often it bettered the plan right after a run that had not.
        chances: how often it was run right after one that had not.
    """

    R: float = 0.0
    N: int = 0
    rescues: int = 0
    chances: int = 0

    def learn(self, reward: float, bettered: bool, after_failure: bool) -> None:
        """Take in one run."""
        self.R += reward
        self.N += 1
        self.chances += after_failure
        self.rescues += after_failure and bettered

    def ucb(self, T: int, prior: float, weights: "Weights") -> float:
        """R/N + sqrt(2 ln(T+1) / N) + prior weight * prior + diversity / (N+1) + recovery * S_recovery.

        An algorithm that was never run has N = 1 in the first two terms.

        Args:
            T: runs of all algorithms so far. prior: how fit a language model says it is, from 0 to 1.
        """
        n = max(self.N, 1)
        recovery = self.rescues / self.chances if self.chances else 0.0
        return (
            self.R / n
            + sqrt(2 * log(T + 1) / n)
            + weights.prior / (1 + T) * prior
            + weights.diversity / (self.N + 1)
            + weights.recovery * recovery
        )


@dataclass(frozen=True)
class Weights:
    """Of the terms of the bound; that of the prior decays with the runs."""

    prior: float = 1.0
    diversity: float = 0.5
    recovery: float = 0.5
