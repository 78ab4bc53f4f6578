"""What is chosen from public numbers: plans and recipes. Nothing here spends anything."""

from __future__ import annotations

import json
from typing import Any

from hushstream import _native

__all__ = ["Plan", "plan", "recipes"]


class Plan:
    """What would be run, and why."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    def __getattr__(self, name: str) -> Any:
        told = self.__dict__.get("_told", {})
        if name in told:
            return told[name]
        if name in told.get("parameters", {}):
            return told["parameters"][name]
        raise AttributeError(f"a plan has no {name!r}; it has {', '.join(told)}")

    def to_dict(self) -> dict[str, Any]:
        """Every number."""
        return dict(self._told)

    def __repr__(self) -> str:
        return "\n".join([self._told["text"], *self._told["warnings"]])

    def _repr_html_(self) -> str:
        facts = [(name, f"{value:g}" if isinstance(value, float) else str(value))
                 for name, value in self._told["parameters"].items()
                 if value is not None and name not in ("reasons",)]
        reasons = [[reason] for reason in self._told["parameters"]["reasons"] + self._told["warnings"]]
        return _native.table(self._told["headline"], ["why"], reasons, facts)


def plan(
    task: str = "classify",
    *,
    features: int,
    rounds: int | str,
    epsilon: float,
    delta: float = 0.0,
    adjacency: str = "replace-one",
    classes: Any = None,
    target_bounds: Any = (-1.0, 1.0),
    norm: float | None = None,
    recipe: str = "auto",
    sum: str = "auto",
    batch: int | None = None,
    max_per_person: int | None = None,
) -> Plan:
    """The plan of a run on so many columns of numbers, or experts or arms.

    >>> plan(features=10, rounds=100_000, epsilon=1, delta=1e-6).recipe
    'tables'
    >>> plan("experts", features=8, rounds=100_000, epsilon=1, delta=1e-6).size
    8
    """
    names = [f"x{place}" for place in range(1, features + 1)]
    schema: dict[str, Any] = {"task": task, "names": names}
    if task in ("experts", "bandit"):
        schema["bounds"] = {"*": [0.0, 1.0]}
    else:
        schema.update(names=[*names, "y"], target="y", bounds={"x*": [-1.0, 1.0]}, norm=norm)
    if task == "regress":
        schema["target_bounds"] = [float(end) for end in target_bounds]
    if classes is not None:
        schema.update(task="multiclass", classes=[str(label) for label in classes])
    settings: dict[str, Any] = {
        "schema": schema,
        "epsilon": epsilon,
        "delta": delta,
        "adjacency": adjacency,
        "batch": batch,
        "max_per_person": max_per_person,
    }
    settings["horizon_unknown" if rounds == "unknown" else "rounds"] = rounds == "unknown" or rounds
    settings.update({k: v for k, v in (("recipe", recipe), ("sum", sum)) if v != "auto"})
    return Plan(json.loads(_native.plan(json.dumps(settings))))


def recipes() -> list[dict[str, Any]]:
    """Every algorithm: its source, its guarantee, and when to use it.

    >>> "tables" in [recipe["recipe"] for recipe in recipes()]
    True
    """
    return json.loads(_native.recipes())
