"""Private advice of experts."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushstream import _input
from hushstream._stream import Stream

__all__ = ["Experts"]


class Experts(Stream):
    """Follows the best of ``n`` experts; nobody can tell one round's losses from what is released.

    Parameters
    ----------
    n : the number of experts.
    loss_bounds : the smallest and the largest loss, which is clipped to them.
    rounds : how many rounds come, or "unknown".
    epsilon, delta, adjacency, ledger, state, resume, seed_insecure, recipe, batch : as for
        :class:`hushstream.Classifier`.

    >>> experts = Experts(3, epsilon=4, delta=1e-6, rounds=500, seed_insecure=1)
    >>> experts.learn_many([[0.1, 0.5, 0.9]] * 500)
    >>> int(experts.weights_.argmax())
    0
    """

    def __init__(
        self,
        n: int,
        *,
        epsilon: float,
        delta: float = 0.0,
        loss_bounds: tuple[float, float] = (0.0, 1.0),
        rounds: int | str,
        recipe: str = "auto",
        batch: int | None = None,
        adjacency: str = "replace-one",
        ledger: Any = None,
        state: Any = None,
        resume: bool = False,
        seed_insecure: int | None = None,
    ) -> None:
        self.n = int(n)
        low, high = (float(end) for end in loss_bounds)
        names = [f"expert{place}" for place in range(1, self.n + 1)]
        schema = {"task": "experts", "names": names, "bounds": {"*": [low, high]}}
        self._begin(
            schema, epsilon=epsilon, delta=delta, rounds=rounds, recipe=recipe, batch=batch,
            adjacency=adjacency, ledger=ledger, state=state, resume=resume, seed_insecure=seed_insecure,
        )

    def learn(self, losses: Any) -> None:
        """Learns the loss of every expert in one round."""
        self.learn_many(np.asarray(losses, dtype=np.float64)[None, :])

    def learn_many(self, losses: Any) -> None:
        """Learns a round from every row."""
        rows = _input.matrix(losses, "Experts")
        if rows.shape[1] != self.n:
            raise ValueError(f"{rows.shape[1]} losses in a round, and there are {self.n} experts")
        self._run.learn([rows], [None] * self.n, None)

    @property
    def weights_(self) -> np.ndarray:
        """The released weight of every expert."""
        return self.model_.weights

    def choose(self, seed: int | None = None) -> int:
        """An expert, drawn by the released weights: free of further cost."""
        weights = np.clip(self.weights_, 0.0, None)
        total = weights.sum()
        chances = weights / total if total > 0 else np.full(self.n, 1 / self.n)
        return int(np.random.default_rng(seed).choice(self.n, p=chances))
