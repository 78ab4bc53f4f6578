"""Private online learning: publish every step, with a proof.

>>> import hushstream
>>> hushstream.plan(features=10, rounds=100_000, epsilon=1, delta=1e-6).recipe
'tables'
"""

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
