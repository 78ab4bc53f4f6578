"""The example of another adapter: Dask. The releases are those of one process, also after a stop."""

import subprocess
import sys
from pathlib import Path

from conftest import HERE, PACKAGE, frame, of_one_process


def test_dask(tmp_path):
    tables = [frame(rows, seed) for seed, rows in enumerate([120, 75, 120])]
    (tmp_path / "rows").mkdir()

    def run():
        script = HERE.parent / "examples" / "on_dask.py"
        done = subprocess.run(
            [sys.executable, str(script), "rows", "state", "ledger"], cwd=tmp_path, capture_output=True,
            text=True, timeout=600, env={"PYTHONPATH": PACKAGE, "HOME": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "SIMULATED" in done.stdout
        lines = [line.split(" ", 1) for line in done.stdout.splitlines() if line[:1].isdigit()]
        return [eval(weights) for _, weights in lines]

    for number, table in enumerate(tables):
        Path(tmp_path / "rows" / f"{number}.csv").write_text(table.to_pandas().to_csv(index=False))
    weights = [release for _, release in of_one_process(tables, batch=120)]
    assert run() == weights
    assert run() == weights[-1:], "what was taken is not taken again"
