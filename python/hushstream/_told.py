"""What is promised and what must not be told: guarantees, and figures for the operator."""

from __future__ import annotations

import json
from typing import Any

from hushstream import _native

__all__ = ["Guarantee", "OperatorOnly"]


class Guarantee:
    """What the releases of a run promise to every person in the data: numbers and words.

    ``str()`` gives the sentence, and a notebook shows a card, red where the noise is simulated.
    """

    def __init__(self, told: tuple[str, str], facts: list[tuple[str, str]] | None = None) -> None:
        self._json, self._words = told
        self._facts = facts or []
        self._stated: dict[str, Any] = json.loads(self._json)

    @property
    def epsilon(self) -> float:
        """ε."""
        return float(self._stated["epsilon"])

    @property
    def delta(self) -> float:
        """δ."""
        return float(self._stated["delta"])

    @property
    def unit(self) -> str:
        """What is protected: a record, or a person."""
        return str(self._stated["unit"])

    @property
    def adjacency(self) -> str:
        """The neighbouring relation."""
        return str(self._stated["adjacency"])

    @property
    def simulated(self) -> bool:
        """Whether the noise came from a seed: then nobody is protected."""
        return bool(self._stated["simulated"])

    def to_dict(self) -> dict[str, Any]:
        """Every number and assumption."""
        return dict(self._stated)

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        facts = [
            ("ε", f"{self.epsilon:g}"),
            ("δ", f"{self.delta:g}"),
            ("protects", f"every {self.unit}, {self.adjacency}"),
            *self._facts,
        ]
        return _native.card(self._words, self.simulated, facts)


class OperatorOnly:
    """A figure computed from private data: for the person who runs the program, not to publish.

    >>> OperatorOnly(0.9)
    OperatorOnly(call .reveal() to see it; it must not be published)
    >>> OperatorOnly(0.9).reveal()
    0.9
    """

    def __init__(self, value: Any) -> None:
        self.__value = value

    def reveal(self) -> Any:
        """The figure."""
        return self.__value

    def __repr__(self) -> str:
        return "OperatorOnly(call .reveal() to see it; it must not be published)"

    def __getstate__(self) -> Any:
        raise TypeError("figures for the operator are not pickled: reveal() them if you must")
