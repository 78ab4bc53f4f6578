"""The notebooks run from top to bottom, and their cards say what they must."""

import nbformat
import pytest
from nbclient import NotebookClient

import hushstream

from conftest import ROOT


@pytest.mark.parametrize("name", ["private_classifier", "live_stream"])
def test_a_notebook_runs(name):
    folder = ROOT / "python/examples"
    notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    shown = [
        output["data"].get("text/html", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "data" in output
    ]
    cards = [page for page in shown if 'class="card"' in page]
    assert cards and all("SIMULATED" not in card for card in cards)
    assert any("Ledger" in page for page in shown)


def test_curves_and_categories_are_drawn(people, schema):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = hushstream.Classifier(
        epsilon=8, delta=1e-6, schema=schema, classes=["no", "yes"], seed_insecure=1
    ).fit(people, "late")
    figure = model.model_.plot(8)
    titles = {axis.get_title() for axis in figure.axes if axis.get_visible()}
    assert {"age", "job", "wage", "visits"} <= titles
    assert len(model.model_._repr_html_()) > 1000 and "SIMULATED" in model._repr_html_()
    plan = model.plan(people.drop(columns="late"), target="late")
    assert plan.recipe == "tables" and "passes" in repr(plan) and "<table" in plan._repr_html_()
