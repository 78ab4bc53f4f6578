"""Hushstream on Dask: an adapter to another cluster, on the four functions of hushstream.elsewhere.

Every file of a folder is a batch, and so is a tick of the run. Workers answer the public question;
this process alone holds the key and the ledger, and takes each batch exactly once: run it again after
any stop.

    python on_dask.py FOLDER STATE LEDGER
"""

import sys
from pathlib import Path

import pandas as pd
from dask.distributed import Client, LocalCluster

from hushstream import Classifier
from hushstream.elsewhere import Authority, partial

ROWS = 50  # of one task


def answer(question, reading, path, first, end):
    """On a worker: the partial sum of some rows of a file, as private as they are."""
    try:
        rows = pd.read_csv(path, skiprows=range(1, first + 1), nrows=end - first)
        return partial(question, reading, [rows], [(Path(path).name, first, end)])
    except Exception as error:  # errors of other libraries may quote values
        problem = type(error).__name__
    raise RuntimeError(f"{problem} in rows {first} to {end} of {Path(path).name}")


def main(folder, state, ledger):
    files = sorted(Path(folder).glob("*.csv"))
    sizes = [sum(1 for _ in open(path)) - 1 for path in files]  # the number of rows is public
    learner = Classifier(
        epsilon=4, delta=1e-6, bounds=(-1, 1), norm=1, batch=max(sizes), state=state, ledger=ledger,
        seed_insecure=7,  # leave it out: then the noise is real
    )
    authority = Authority(learner, ["a", "b"], target="y", batches=len(files))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        client = Client(cluster)
        for number, (path, size) in enumerate(zip(files, sizes)):
            if authority.delivered and number < authority.delivered[1]:
                continue
            question = client.scatter(authority.question()) if authority.asks else None
            places = range(0, size, ROWS) if question is not None else ()
            sums = [
                client.submit(answer, question, authority.reading, str(path), at, min(at + ROWS, size))
                for at in places
            ]
            taken = authority.commit("files", number, client.gather(sums))
            print(number, taken.release.weights.tolist())
    return learner


if __name__ == "__main__":
    print(main(*sys.argv[1:]).guarantee_)
