"""dp-accounting: a thousand charges, all different, added up and turned into epsilon at delta = 1e-6. usage: accounting.py METHOD KIND

METHOD is rdp or pld, KIND gaussian (a thousand sizes) or mixed (every other one a Laplace mechanism): the same as in src/accounting.rs.
"""

import sys

from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant
from stopwatch import measured

CHARGES = 1000
method, kind = sys.argv[1:]
sizes = [0.01 + 0.03 * index / CHARGES for index in range(CHARGES)]
events = [
    dp_event.LaplaceDpEvent(1 / size) if kind == "mixed" and index % 2 == 1 else dp_event.GaussianDpEvent(1 / size)
    for index, size in enumerate(sizes)
]
found = {}


def run():
    accountant = rdp_privacy_accountant.RdpAccountant() if method == "rdp" else pld_privacy_accountant.PLDAccountant()
    for event in events:
        accountant.compose(event)
    found["epsilon"] = float(accountant.get_epsilon(1e-6))
    return 1


measured(run, found)
