"""The client against a real server, and the commands of docs/serving-clients.md."""

import asyncio
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "clients"))
import testing  # noqa: E402

from hushstream.client import AsyncClient, Client, Refusal  # noqa: E402


@pytest.fixture(scope="module")
def server():
    with testing.Server() as server:
        yield server


@pytest.fixture
def role(server):
    def of(name):
        return Client(server.url, server.tokens[name])

    return of


@pytest.fixture(scope="module")
def model(server):
    """A model whose first batches are released, with a client's and an operator's view of it."""
    operator = Client(server.url, server.tokens["operator"])
    operator.make_dataset("people", 20.0, 1e-5)
    assert operator.plan(**testing.DECIDES)["fits"]
    made = operator.make_model("banner", **testing.DECIDES)
    assert made["simulated"] and made["slots"] == 0
    # The same again is the same model.
    assert operator.make_model("banner", **testing.DECIDES)["created"] == made["created"]
    return "banner"


CONTEXT = {"age": 31, "device": "phone"}


def wait_for(condition):
    """Waits for the server, not for a time: fails after a minute."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def play(client, model, count):
    """Decisions with a reward each."""
    for place in range(count):
        decision = client.decide(model, {"age": 7 * place % 100, "device": "desk"})
        client.reward(model, decision.event_id, 1.0 if decision.action == "red" else 0.0)


def test_decisions_are_rewarded_and_released(role, model):
    client, reader, operator = role("client"), role("reader"), role("operator")
    events = client.events(model)
    assert next(events).event == "state"
    decision = client.decide(model, CONTEXT)
    assert decision.action in ("red", "green") and decision.learning
    assert decision.ranking[0][1] >= decision.ranking[1][1]
    assert abs(sum(chance for _, chance in decision.ranking) - 1) < 1e-12
    assert dict(decision.ranking)[decision.action] == decision.probability
    # The same id and body is the same decision, in the same slot.
    slots = reader.model(model)["slots"]
    assert client.decide(model, CONTEXT, event_id=decision.event_id) == decision
    assert reader.model(model)["slots"] == slots
    client.reward(model, decision.event_id, 1.0)
    only = client.decide(model, CONTEXT, actions=["green"], exclude=["red"])
    assert (only.action, only.probability) == ("green", 1.0)
    play(client, model, 18)
    kinds = []
    while "released" not in kinds:
        kinds.append(next(events).event)
    assert kinds.index("closed") < kinds.index("released")
    released = reader.releases(model)
    assert [line["version"] for line in released] == sorted(line["version"] for line in released)
    assert reader.evaluation(model)["evaluation"][0]["policy"] == "as played"
    assert reader.policy(model)["policy"]["map"]
    assert reader.dataset("people")["runs"][0]["model"] == model
    assert [each["model"] for each in reader.models()] == [model]
    exact = operator.operator(model)
    assert exact["operator_only"] and exact["rewards"] >= 19
    rows = operator.audit()
    assert {"seq", "at", "what", "prev", "hash"} <= rows[0].keys()
    assert [each["dataset"] for each in reader.datasets()] == ["people"]


def test_decisions_made_elsewhere_take_a_slot_first(role, model):
    client = role("client")
    slot = client.slot(model)
    policy = client.policy(model, slot.policy)
    assert policy["layout"]["decides"]["arms"] == ["red", "green"]
    client.fill(model, slot, CONTEXT, "red", 1.0)
    with pytest.raises(Refusal) as refused:
        client.fill(model, slot, CONTEXT, "blue", 1.0)
    assert (refused.value.status, refused.value.place) == (422, "action")


def test_refusals_name_a_place_and_no_value(role, model):
    client, reader = role("client"), role("reader")
    with pytest.raises(Refusal) as refused:
        client.decide(model, {"age": "secret-age", "device": "phone"})
    assert refused.value.status == 422 and "secret-age" not in str(refused.value)
    for wrong, status in [
        (lambda: reader.operator(model), 403),
        (lambda: reader.decide(model, CONTEXT), 403),
        (lambda: reader.model("none"), 404),
        (lambda: client.reward(model, "none", 1.0), 404),
        (lambda: Client(client_url(client), "hs_x_y").whoami(), 401),
    ]:
        with pytest.raises(Refusal) as refused:
            wrong()
        assert refused.value.status == status
    with pytest.raises(ValueError, match="not finite"):
        client.decide(model, {"age": float("inf"), "device": "phone"})
    with pytest.raises(ValueError, match="http://127"):
        Client("127.0.0.1:7070", "x")
    assert "hs_" not in repr(client)


def client_url(client):
    host, port = client._make.args
    return f"http://{host}:{port}"


def test_the_same_to_be_awaited(server, model):
    async def run():
        async with AsyncClient(server.url, server.tokens["client"]) as client:
            events = client.events(model)
            assert (await anext(events)).event == "state"
            asked = [client.decide(model, {"age": n, "device": None}) for n in range(30)]
            decisions = await asyncio.gather(*asked)
            assert len({decision.event_id for decision in decisions}) == 30
            await asyncio.gather(*(client.reward(model, d.event_id, 0.5) for d in decisions))
            async for event in events:
                if event.event == "released":
                    break
            await events.aclose()
            with pytest.raises(Refusal):
                await client.operator(model)

    asyncio.run(run())


def test_records_and_predictions(role, model):
    client, operator = role("client"), role("operator")
    settings = {
        "dataset": "people",
        "task": "regress",
        "schema": {"bounds": {"age": [0, 100]}, "target": "wage", "target_bounds": [0, 10]},
        "batch": 10,
        "batches": 2,
        "reward_wait": 1,
        "epsilon": 2.0,
        "delta": 1e-6,
        "simulated": 5,
    }
    operator.make_model("wages", **settings)
    rows = [{"features": {"age": age}, "target": age / 10} for age in range(9)]
    told = client.records("wages", [*rows, {"features": {"age": float("nan")}, "event_id": "late"}])
    assert told["taken"] == 10 and told["null_lines"] == []
    client.target("wages", "late", 5.0)
    wait_for(lambda: client.model("wages")["released"] > 0)
    [prediction] = role("reader").predict("wages", [{"age": 50}])
    assert 0 <= prediction["number"] <= 10


def test_what_may_be_sent_again_is():
    seen, answers = [], []

    class Busy(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append(json.loads(body))
            status, told = answers.pop(0)
            self.send_response(status)
            self.send_header("Retry-After", "0")
            data = json.dumps(told).encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    busy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=busy.serve_forever, daemon=True).start()
    client = Client(f"http://127.0.0.1:{busy.server_port}", "t")
    ok = {"event_id": "e", "action": "red", "probability": 1, "ranking": [], "policy": 0}
    ok["learning"] = True
    answers += [(503, {}), (429, {}), (200, ok)]
    assert client.decide("m", CONTEXT).action == "red"
    assert len(seen) == 3 and seen[0] == seen[1] == seen[2]
    # A reward has an id of its own, so that it counts once.
    answers += [(503, {}), (200, {}), (200, {})]
    client.reward("m", "e", 1)
    client.reward("m", "e", 1)
    assert len(seen) == 6 and seen[3] == seen[4] and seen[3]["reward_id"] != seen[5]["reward_id"]
    # A token is made once.
    answers += [(503, {"detail": "busy"})]
    with pytest.raises(Refusal, match="busy"):
        client.make_token("t", "reader")
    assert len(seen) == 7
    busy.shutdown()


def test_the_commands_of_the_page(server):
    page = (ROOT / "docs/serving-clients.md").read_text()
    [commands] = re.findall(r"```sh\n(.*?)```", page, re.S)
    tokens = {name.upper(): server.tokens[name] for name in ("operator", "client", "reader")}
    # The model of the page has real noise and its own name.
    commands = commands.replace("models/banner", "models/page").replace("5f0c3a4e", "5f0c3a4f")
    done = subprocess.run(
        ["bash", "-eu", "-c", commands],
        env={**os.environ, **tokens, "URL": server.url},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert '"action"' in done.stdout and '"guarantee"' in done.stdout
    [piece] = re.findall(r"```python\n(.*?)```", page, re.S)
    assert piece in (ROOT / "docs/tutorials/product.md").read_text()
    exec(piece.replace('"banner"', '"page"'), {"url": server.url, "token": server.tokens["client"]})


def test_the_client_is_light():
    """It is loaded without numpy and the engine where it stands alone."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import testing; testing.load_client();"
    code += "assert not {'numpy', 'hushstream'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(ROOT / "clients")], check=True)


def test_the_package_is_loaded_in_parts(tmp_path):
    """Its client needs neither numpy nor the engine, and every name of the package is found."""
    code = "import sys, hushstream.client;"
    code += "assert not {'numpy', 'hushstream._native'} & set(sys.modules);"
    code += "from hushstream import *; assert Classifier and plan and BudgetExceeded;"
    code += "assert set(hushstream.__all__) <= set(dir(hushstream));"
    code += "assert set(hushstream.__all__) == set(hushstream._PART_OF);"
    code += "assert not hasattr(hushstream, 'nothing')"
    # In the folder of the sources there is a package of this name without its native module.
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_an_authority_on_a_server(server, role):
    """Sums made elsewhere, over HTTP: the lines of the book; a retry, a gap, another source."""
    operator = role("operator")
    operator.make_dataset("late", 20.0, 1e-5)
    operator.make_model(
        "late",
        dataset="late",
        task="classify",
        schema={"target": "late", "bounds": {"a": [0, 1], "b": [0, 10]}},
        batch=50,
        batches=3,
        epsilon=4.0,
        delta=1e-6,
        simulated=7,
        elsewhere=True,
    )
    book = (ROOT / "docs/how-to/clusters.md").read_text()
    piece = re.findall(r"```python\n(.*?)```", book, re.S)[1]
    token = server.tokens["client"]
    named = {"token": token}
    exec(piece.replace("https://hush.example", server.url), named)
    remote, rows = named["remote"], named["rows"]
    assert remote.asks and remote.batch == 50 and remote.delivered == ("clicks", 0)
    again = remote.commit("clicks", 0, [])
    assert not again.is_new and again.release.release == 1
    assert (again.release.weights == operator.policy("late", 1)["weights"]).all()
    from hushstream.elsewhere import partial

    parts = [partial(remote.question(), remote.reading, [rows], [("clicks-0", 2, 4)])]
    for source, number, words in (
        ("clicks", 2, "would be left out"),
        ("other", 0, "may read everybody again"),
    ):
        with pytest.raises(Refusal, match=words):
            remote.commit(source, number, parts)
    with pytest.raises(ValueError, match="the operator's"):
        remote.commit("other", 0, parts, accept_new_source={"clicks-0": 2})
    with pytest.raises(Refusal):
        role("client").accept_source("late", "other", 0, parts, {"clicks-0": 2}, "moved")
    moved = operator.accept_source("late", "other", 0, parts, {"clicks-0": 2}, "the log was moved")
    assert moved == {"is_new": True, "version": 2}
    assert any("the log was moved" in row["what"] for row in operator.audit())
    parts = [partial(remote.question(), remote.reading, [rows], [("clicks-0", 4, 6)])]
    assert remote.commit("other", 1, parts).is_new and remote.delivered == ("other", 1)
    assert not remote.asks and operator.model("late")["status"] == "finished"


def test_a_server_that_starts_again_is_waited_for(monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    with pytest.raises(OSError):
        Client("http://127.0.0.1:1", "hs_none").models()
    assert waits == pytest.approx([0.2, 0.4, 0.8])
