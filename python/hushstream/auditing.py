"""Attacks on recipes, comparisons on synthetic games, and an accountant.

Audits and comparisons simulate their noise on public data: nothing here protects anybody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hushstream import _native

__all__ = ["Accountant", "AuditResult", "audit", "compare"]


class AuditResult:
    """What an attack proved: a lower bound of the privacy that is lost, beside the claim."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told
        self.claimed: dict[str, Any] = told["claimed"]
        self.lower_bound: dict[str, Any] = told["lower_bound"]
        self.violated: bool = told["violated"]
        self.runs: int = told["runs"]

    def to_dict(self) -> dict[str, Any]:
        """Every number."""
        return dict(self._told)

    def __repr__(self) -> str:
        verdict = "REFUTED" if self.violated else "not refuted"
        return (
            f"{self._told['recipe']}: ε ≥ {self.lower_bound['epsilon']:.3f} is proved by "
            f"{self.runs} runs, ε = {self.claimed['epsilon']:g} is claimed, at δ = "
            f"{self.claimed['delta']:g}: {verdict}"
        )


def audit(
    recipe: str,
    *,
    sum: str | None = None,
    epsilon: float = 8.0,
    delta: float = 1e-5,
    rounds: int | None = None,
    runs: int = 2000,
    confidence: float = 0.999,
    seed: int = 1,
) -> AuditResult:
    """Attacks a recipe from outside and proves how much privacy is lost at least.

    A bound above the claim refutes it; one below says that these attacks did not find more.

    >>> audit("pftal", runs=1000).violated
    False
    """
    told = _native.audit(recipe, sum, (epsilon, delta), rounds, (runs, confidence, seed))
    return AuditResult(json.loads(told))


def compare(
    recipes: Iterable[str],
    *,
    task: str = "experts",
    game: str = "switching",
    dim: int = 4,
    rounds: int = 4096,
    batch: int = 1,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    sum: str | None = None,
    adjacency: str = "replace-one",
    repeats: int = 4,
) -> list[dict[str, Any]]:
    """The regret of recipes on one synthetic game.

    >>> [row["recipe"] for row in compare(["ftrl", "ftpl"], rounds=256, repeats=1)]
    ['ftrl', 'ftpl']
    """
    sizes = (dim, rounds, batch, repeats)
    names = [recipes] if isinstance(recipes, str) else list(recipes)
    told = (
        _native.compare(name, sum, (task, game), sizes, (epsilon, delta), adjacency) for name in names
    )
    return [json.loads(row) for row in told]


class Accountant:
    """What several releases cost together, rounded against ourselves. It reads and writes no file.

    The sum holds for charges that are fixed before any release is seen; where later ones depend on
    earlier releases, use a :class:`hushstream.Ledger`.

    >>> accountant = Accountant()
    >>> accountant.spend(sensitivity=1.0, sigma=10.0, times=5)
    >>> round(accountant.epsilon(1e-6), 3)
    0.941
    >>> accountant.fits(1.0, 1e-6)
    True
    """

    def __init__(self) -> None:
        self._spent = _native.Spending()

    def spend(
        self,
        *,
        mu: float | None = None,
        sensitivity: float | None = None,
        sigma: float | None = None,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        times: int = 1,
    ) -> None:
        """Adds a charge: Gaussian by ``mu`` or by ``sensitivity`` and ``sigma``, zCDP by ``rho``, or
        (``epsilon``, ``delta``)."""
        if sigma is not None and sensitivity is not None:
            mu = _native.gaussian_mu(sensitivity, sigma)
        stated = [(kind, value) for kind, value in (("gaussian", mu), ("zcdp", rho)) if value is not None]
        if epsilon is not None:
            stated.append(("pure" if delta == 0 else "approximate", epsilon))
        if len(stated) != 1 or times < 1:
            raise ValueError("one charge: mu=, sensitivity= and sigma=, rho=, or epsilon= and delta=")
        kind, amount = stated[0]
        self._spent.add(kind, float(amount), float(delta), int(times))

    def epsilon(self, delta: float) -> float:
        """The least ε at this δ."""
        return float(self._spent.epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """The least δ at this ε."""
        return float(self._spent.delta(epsilon))

    def fits(self, epsilon: float, delta: float) -> bool:
        """Whether all charges are within this budget."""
        return self.delta(epsilon) <= delta
