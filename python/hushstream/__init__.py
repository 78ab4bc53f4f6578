"""Private online learning: publish every step, with a proof.

>>> import hushstream
>>> hushstream.plan(features=10, rounds=100_000, epsilon=1, delta=1e-6).recipe
'tables'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushstream._estimators import Classifier, Regressor
    from hushstream._model import Model, load_model
    from hushstream._native import BudgetExceeded, HushstreamError
    from hushstream._told import Guarantee, OperatorOnly
    from hushstream.auditing import Accountant, AuditResult, audit, compare
    from hushstream.bandits import Bandit, Play
    from hushstream.experts import Experts
    from hushstream.ledger import Ledger
    from hushstream.planning import Plan, plan, recipes
    from hushstream.schema import Schema
    from hushstream.statistics import (
        Estimate,
        RunningCount,
        RunningHistogram,
        RunningMean,
        RunningSum,
        Statistics,
        Tracker,
    )

__all__ = [
    "Accountant",
    "AuditResult",
    "Bandit",
    "BudgetExceeded",
    "Classifier",
    "Estimate",
    "Experts",
    "Guarantee",
    "HushstreamError",
    "Ledger",
    "Model",
    "OperatorOnly",
    "Plan",
    "Play",
    "Regressor",
    "RunningCount",
    "RunningHistogram",
    "RunningMean",
    "RunningSum",
    "Schema",
    "Statistics",
    "Tracker",
    "audit",
    "compare",
    "load_model",
    "plan",
    "recipes",
]

# Where each name is: a part is loaded when it is first asked for, so that a program with
# `hushstream.client` alone loads neither numpy nor the native module.
_PARTS = {
    "_estimators": "Classifier Regressor",
    "_model": "Model load_model",
    "_native": "BudgetExceeded HushstreamError",
    "_told": "Guarantee OperatorOnly",
    "auditing": "Accountant AuditResult audit compare",
    "bandits": "Bandit Play",
    "experts": "Experts",
    "ledger": "Ledger",
    "planning": "Plan plan recipes",
    "schema": "Schema",
    "statistics": "Estimate RunningCount RunningHistogram RunningMean RunningSum Statistics Tracker",
}
_PART_OF = {name: part for part, names in _PARTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    part = _PART_OF.get(name)
    if part is None:
        raise AttributeError(f"module 'hushstream' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"hushstream.{part}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
