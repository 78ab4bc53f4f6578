"""Private online learning: publish every step, with a proof.

>>> import hushstream
>>> hushstream.plan(features=10, rounds=100_000, epsilon=1, delta=1e-6).recipe
'tables'
"""

from hushstream._estimators import Classifier, Regressor
from hushstream._model import Model, load_model
from hushstream._native import BudgetExceeded, HushstreamError
from hushstream._told import Guarantee, OperatorOnly
from hushstream.ledger import Ledger
from hushstream.planning import Plan, plan, recipes
from hushstream.schema import Schema

__all__ = [
    "BudgetExceeded",
    "Classifier",
    "Guarantee",
    "HushstreamError",
    "Ledger",
    "Model",
    "OperatorOnly",
    "Plan",
    "Regressor",
    "Schema",
    "load_model",
    "plan",
    "recipes",
]
