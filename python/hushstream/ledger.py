"""Ledgers: the budget of one data set, and every charge against it."""

from __future__ import annotations

import json
import os
from typing import Any

from hushstream import _native

__all__ = ["Ledger"]


class Ledger:
    """The file that holds what the people in one data set were promised, over all runs.

    The file is made by the first run. Later runs are charged to it, and refused when the promise
    would be broken. Reading it changes nothing.

    Parameters
    ----------
    path : the file.
    epsilon, delta : the total over all runs; by default the first run's own. They cannot be
        changed here once the file exists: :meth:`raise_to` is a decision about people.

    >>> Ledger("people.ledger", epsilon=2.0, delta=1e-6)
    Ledger('people.ledger': no run yet; (2.0, 1e-06) are promised in total)
    """

    def __init__(
        self, path: Any, *, epsilon: float | None = None, delta: float | None = None
    ) -> None:
        self.path = os.fspath(path)
        self.epsilon = epsilon
        self.delta = delta
        if self.exists:
            promised = self._told()
            for name, stated in (("epsilon", epsilon), ("delta", delta)):
                if stated is not None and stated != promised[name]:
                    raise _native.HushstreamError(
                        f"the ledger promises {name} = {promised[name]}, not {stated}. To raise it is a "
                        "decision about the people in the data: Ledger.raise_to(epsilon, delta, "
                        "because=...)"
                    )

    @property
    def exists(self) -> bool:
        """Whether a run has made the file."""
        return os.path.exists(self.path)

    def _told(self) -> dict[str, Any]:
        return json.loads(_native.ledger(self.path))

    @property
    def spent(self) -> float:
        """The part of the promise that runs have used, from 0 to 1."""
        return float(self._told()["used"]) if self.exists else 0.0

    @property
    def remaining(self) -> float:
        """The part that is left, from 0 to 1."""
        return max(0.0, 1.0 - self.spent)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Every charge: its ε and δ, the kind of noise, and whether it protects anybody."""
        return self._told()["runs"] if self.exists else []

    def to_dict(self) -> dict[str, Any]:
        """Everything that the ledger says."""
        return self._told()

    def raise_to(
        self, epsilon: float | None = None, delta: float | None = None, *, because: str
    ) -> None:
        """Promises the people in the data less than before: a larger total ε or δ.

        ``because`` is for the reader of your program: every person's protection gets weaker.
        """
        if not isinstance(because, str) or not because.strip():
            raise ValueError("say why the people in the data are to be promised less: because=...")
        _native.ledger_raise(self.path, epsilon, delta)
        self.epsilon = self.delta = None

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"ledger": self.path}
        if not self.exists:
            settings["total_epsilon"] = self.epsilon
            settings["total_delta"] = self.delta
        return settings

    def _fact(self) -> tuple[str, str]:
        told = self._told()
        return (
            "ledger",
            f"{told['name']}: {told['used']:.0%} of ({told['epsilon']:g}, {told['delta']:g}) used "
            f"by {len(told['runs'])} run{'s' * (len(told['runs']) != 1)}, {self.remaining:.0%} left",
        )

    def __repr__(self) -> str:
        if not self.exists:
            total = f"({self.epsilon}, {self.delta}) are promised in total"
            if self.epsilon is None:
                total = "the first run states the total"
            return f"Ledger({self.path!r}: no run yet; {total})"
        return f"Ledger({self._fact()[1]})"

    def _repr_html_(self) -> str:
        if not self.exists:
            return _native.table(repr(self), [], [], [])
        told = self._told()
        rows = [
            [
                str(run["number"]),
                f"{run['epsilon']:g}",
                f"{run['delta']:g}",
                run["kind"],
                "protects nobody: simulated" if run["simulated"] else "protects",
            ]
            for run in told["runs"]
        ]
        facts = [
            ("promised in total", f"({told['epsilon']:g}, {told['delta']:g}), {told['adjacency']}"),
            ("used", f"{told['used']:.1%}"),
            ("protects", "persons" if told["per_person"] else "records"),
        ]
        head = ["run", "ε", "δ", "noise", "protection"]
        return _native.table(f"Ledger {told['name']}", head, rows, facts)
