"""What learners without a target share: a run that begins with the object."""

from __future__ import annotations

import json
from typing import Any

from hushstream import _native
from hushstream._estimators import ledger_settings
from hushstream._model import Model
from hushstream._told import Guarantee, OperatorOnly


class Stream:
    """A run of losses or rewards."""

    _run: Any

    def _begin(
        self,
        schema: dict[str, Any],
        *,
        epsilon: float,
        delta: float,
        rounds: int | str,
        recipe: str,
        batch: int | None,
        adjacency: str,
        ledger: Any,
        state: Any,
        resume: bool,
        seed_insecure: int | None,
        **more: Any,
    ) -> None:
        settings: dict[str, Any] = {
            "schema": schema,
            "epsilon": epsilon,
            "delta": delta,
            "adjacency": adjacency,
            "batch": batch,
            "seed_insecure": seed_insecure,
            "resume": resume,
            **more,
        }
        if rounds == "unknown":
            settings["horizon_unknown"] = True
        else:
            settings["rounds"] = int(rounds)
        if recipe != "auto":
            settings["recipe"] = recipe
        if state is not None:
            settings["state"] = str(state)
        settings.update(ledger_settings(ledger))
        names = schema["names"]
        self._run = _native.Run(json.dumps(settings), len(names), None)

    @property
    def records_(self) -> int:
        """Rounds that were learned so far."""
        return int(self._run.records)

    @property
    def model_(self) -> Model:
        """The last released model, which may be published."""
        return Model(self._run.model())

    @property
    def guarantee_(self) -> Guarantee:
        """What all releases promise."""
        return Guarantee(self._run.guarantee())

    @property
    def operator_(self) -> OperatorOnly:
        """Figures from private data: not to be published."""
        told = self._run.figures()
        return OperatorOnly(None if told is None else json.loads(told))

    def sync(self) -> list[Model]:
        """Makes everything durable, and gives the models that may leave since the last call."""
        return [Model(model) for model in self._run.publish()]

    def __getstate__(self) -> Any:
        raise TypeError("a run is not pickled: it has a key. Pickle model_, which is released")

    def _repr_html_(self) -> str:
        return self.model_._repr_html_()
