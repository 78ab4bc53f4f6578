"""A server of the built program on loopback, with one of everything."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("HUSHSTREAM", str(ROOT / "target/debug/hushstream"))
DECIDES = {
    "dataset": "people",
    "task": "decide",
    "schema": {"bounds": {"age": [0, 100]}, "vocabulary": {"device": ["phone", "desk"]}},
    "actions": ["red", "green"],
    "batch": 50,
    "batches": 1000,
    "reward_wait": 1,
    "evaluation": {"policies": ["uniform"]},
    "epsilon": 1,
    "delta": 1e-8,
    "simulated": 1,
}
PREDICTS = {
    **{key: value for key, value in DECIDES.items() if key not in ("actions", "evaluation")},
    "task": "classify",
    "schema": {**DECIDES["schema"], "target": "clicked"},
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, folder):
        self.folder, self.port, self.log = folder, free_port(), folder / "log"
        command = [PROGRAM, "serve", "--insecure-simulated", "--data", str(folder / "data")]
        command += ["--listen", f"127.0.0.1:{self.port}", "--no-ops"]
        with self.log.open("w") as log:
            out = {"stdout": subprocess.DEVNULL, "stderr": log}
            self.process = subprocess.Popen(command, **out)
        deadline = time.monotonic() + 180
        while True:
            try:
                self.call("GET", "/v1/livez")
                break
            except OSError:
                assert self.process.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def token(self, name):
        return (self.folder / "data" / f"{name}.token").read_text().strip()

    def call(self, method, path, body=None, token=None, wanted=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert wanted is None or answer.status == wanted, text
        return json.loads(text) if text else None

    def new_token(self, tenant, role):
        path = f"/v1/tenants/{tenant}/tokens"
        return self.call("POST", path, {"role": role}, self.token("admin"), 201)["token"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=180) == 0


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    operator = server.token("operator")
    people = {"epsilon": 20, "delta": 1e-6, "adjacency": "replace-one"}
    server.call("PUT", "/v1/datasets/people", people, operator, 201)
    server.call("PUT", "/v1/models/banner", DECIDES, operator, 201)
    server.call("PUT", "/v1/models/scores", PREDICTS, operator, 201)
    server.call("PUT", "/v1/tenants/other", {}, server.token("admin"), 201)
    yield server
    if server.process.poll() is None:
        server.stop()
