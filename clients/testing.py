"""A server for tests, started from the program, on loopback and in a folder of its own."""

import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(os.environ.get("HUSHSTREAM_PROGRAM", ROOT / "target/debug/hushstream"))

#: Decisions about two columns: batches of ten that close a second after they are full.
DECIDES = {
    "dataset": "people",
    "task": "decide",
    "schema": {"bounds": {"age": [0, 100]}, "vocabulary": {"device": ["phone", "desk"]}},
    "actions": ["red", "green"],
    "batch": 10,
    "batches": 40,
    "reward_wait": 1,
    "evaluation": {"policies": ["uniform", "arm:red"]},
    "epsilon": 4.0,
    "delta": 1e-6,
    "simulated": 7,
}


def load_client():
    """The client by itself: it needs neither the package around it nor anything but Python."""
    path = ROOT / "python/hushstream/client.py"
    spec = importlib.util.spec_from_file_location("hushstream_client", path)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Server:
    """Use it with `with`: `url`, and `tokens` by role."""

    def __init__(self, *flags):
        assert PROGRAM.exists(), "build the program first: cargo build --bin hushstream"
        self.folder = tempfile.TemporaryDirectory(prefix="hushstream-")
        data = Path(self.folder.name) / "data"
        command = [PROGRAM, "serve", "--data", data, "--listen", "127.0.0.1:0", "--no-ops"]
        command += ["--insecure-simulated", *flags]
        command = [str(part) for part in command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("serving at http://127.0.0.1:"), line
        self.url = line.split()[-1]
        self.process.stdout.readline()
        read = lambda name: (data / f"{name}.token").read_text().strip()
        self.tokens = {"operator": read("operator"), "admin": read("admin")}

    def __enter__(self):
        Client = load_client().Client
        with Client(self.url, self.tokens["operator"]) as operator:
            tenant = operator.whoami()["tenant"]
            for role in ("reader", "client"):
                self.tokens[role] = operator.make_token(tenant, role)["token"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.folder.cleanup()
