"""The OpenAPI document against the server, by schemathesis: every role, all checks.

The stream of events never ends, so it is left out here; the Rust tests read it.
"""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = os.environ.get("EXAMPLES", "20")
# A model's own schema, which the document does not know, may refuse what the document allows.
CHECKS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "304", "400", "401", "403", "404", "409", "410", "422", "429", "503"]
"""
# Random names are mostly of nothing; these are there.
NAMES = """
[parameters]
"path.model" = "{model}"
"path.dataset" = "people"
"path.tenant" = "main"
"path.event" = "one"
"""


def schemathesis(server, folder, token, names):
    config = folder / "schemathesis.toml"
    config.write_text(names + CHECKS)
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    command = [str(program), "--config-file", str(config), "run", f"{server.url}/v1/openapi.json"]
    command += ["--checks", "all", "--phases", "examples,coverage,fuzzing"]
    command += ["--max-examples", EXAMPLES, "--seed", "26", "--continue-on-failure", "--no-color"]
    command += ["--exclude-operation-id", "get-events", "--suppress-health-check", "all"]
    command += ["--warnings", "off", "--request-timeout", "120"]
    if token:
        command += ["--header", f"Authorization: Bearer {token}"]
    hooks = {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(pathlib.Path(__file__).parent)}
    environment = {**os.environ, **hooks}
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert found.returncode == 0, found.stdout + found.stderr
    server.call("GET", "/v1/readyz", wanted=200)
    log = server.log.read_text()
    assert "panicked" not in log and '"ERROR"' not in log, log


@pytest.mark.parametrize("names", ["random", "banner", "scores"])
@pytest.mark.parametrize("role", ["nobody", "admin", "operator", "client", "reader", "other"])
def test_the_server_does_what_the_document_says(server, tmp_path, role, names):
    token = {
        "nobody": lambda: None,
        "admin": lambda: server.token("admin"),
        "other": lambda: server.new_token("other", "operator"),
    }.get(role, lambda: server.new_token("main", role))()
    if role == "client":
        context = {"age": 31, "device": "phone"}
        for path, body in [
            ("/v1/models/banner/decisions", {"event_id": "one", "context": context}),
            ("/v1/models/scores/records", {"event_id": "one", "features": context}),
        ]:
            server.call("POST", path, body, token, 200)
    schemathesis(server, tmp_path, token, "" if names == "random" else NAMES.format(model=names))
