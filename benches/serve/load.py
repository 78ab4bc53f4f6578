"""`hushstream serve` under load: durable decisions per second, decisions per sync of the disk, times
beside those of the disk, ten times the load, and a start with thousands of models.

    python3 benches/serve/load.py [--program PATH] [--seconds S] [--models N] [--vw PYTHON]

With a Python that has Vowpal Wabbit (target/bench-python/bin/python after `make bench`), its daemon
beside it. Needs wrk (the Debian package), and Linux. Prints one JSON object per step, each with the load of the
machine: figures of a busy machine say little. Times of syncs are the server's own, of the same run,
from a histogram whose bounds are a quarter apart. Asserts no time.

With a C compiler, the same on a slower disk: each sync takes 4 ms longer, and every tenth 12 ms, as
on a small cloud machine.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import resource
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODEL = {
    "dataset": "people-0",
    "task": "decide",
    "schema": {
        "bounds": {"age": [18, 80], "hour": [0, 23]},
        "vocabulary": {"device": ["phone", "tablet", "desk"]},
    },
    "actions": ["news", "sport", "music"],
    "batch": 10_000,
    "batches": 1_000,
    # Closed and learned from while others are decided.
    "reward_wait": 1,
    "epsilon": 0.01,
    "delta": 1e-10,
}


def tell(step, **figures):
    load = " ".join(f"{part:.1f}" for part in os.getloadavg())
    print(json.dumps({"step": step, **figures, "load_average": load}), flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """The program on a folder."""

    def __init__(self, program, folder, environment=None):
        self.folder, self.port, self.ops = folder, free_port(), free_port()
        command = [program, "serve", "--data", folder, "--listen", f"127.0.0.1:{self.port}"]
        command += ["--ops", f"127.0.0.1:{self.ops}"]
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        while True:
            try:
                self.call("GET", "/v1/livez", token=None)
                break
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit("the server ended by itself") from None
                time.sleep(0.005)

    def call(self, method, path, body=None, token="operator"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"content-type": "application/json"}
        if token == "operator":
            token = (pathlib.Path(self.folder) / "operator.token").read_text().strip()
        if token:
            headers["authorization"] = f"Bearer {token}"
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status >= 400:
            raise SystemExit(f"{method} {path}: {answer.status} {text}")
        return json.loads(text) if text else None

    def syncs(self):
        """How many syncs of the store took at most so many seconds."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ops, timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        found = re.findall(r'^hushstream_sync_seconds_bucket{le="([^"]+)"} (\d+)', text, re.M)
        return {float(bound): int(count) for bound, count in found}

    def processor(self):
        """Seconds of processor time so far."""
        parts = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=120)


def wrk(server, token, connections, seconds, patience=0, timed=False, pause=0):
    command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s"]
    command += ["-s", str(HERE / "decide.lua"), f"http://127.0.0.1:{server.port}", "--", token]
    command += [str(patience), "timed" if timed else "", str(pause)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in result.stdout.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


def at(before, after, share):
    """The milliseconds that this share of syncs did not exceed: the lower bound of the bucket, so
    that nothing looks better beside it than it is."""
    counts = {bound: count - before.get(bound, 0) for bound, count in after.items()}
    wanted, lower = share * max(counts.values(), default=0), 0.0
    for bound, count in sorted(counts.items()):
        if count >= wanted:
            break
        lower = bound
    return round(1000 * lower, 2)


# What is tried, connections, milliseconds of a pause after 503 (which says Retry-After: 1), and of
# one after every answer, on average. Where some are turned away, decisions are timed apart.
STEPS = [
    ("few", 16, 0, 0),
    ("some", 64, 0, 0),
    ("usual", 256, 0, 0),
    ("half of what it can", 256, 0, 22),
    ("ten times", 2560, 0, 0),
    ("ten times, patient", 2560, 1000, 0),
    ("after", 256, 0, 0),
]


def slow_disk(folder):
    """The environment of a process whose disk is slower."""
    library = os.path.join(folder, "faults.so")
    source = ROOT / "scripts/faults.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {**os.environ, "LD_PRELOAD": library, "FAULT_SLOW": "4000"}


def under_load(program, folder, seconds, disk, environment=None):
    server = Server(program, os.path.join(folder, disk), environment)
    server.call("PUT", "/v1/datasets/people-0", {"epsilon": 1, "delta": 1e-6, "adjacency": "replace-one"})
    server.call("PUT", "/v1/models/banner", MODEL)
    token = server.call("POST", "/v1/tenants/main/tokens", {"role": "client"})["token"]
    wrk(server, token, 64, 2)
    for step, connections, patience, pause in STEPS:
        before, used = server.syncs(), server.processor()
        slots = server.call("GET", "/v1/models/banner")["slots"]
        told = wrk(server, token, connections, seconds, patience, connections > 256, pause)
        time.sleep(1)
        after, used = server.syncs(), server.processor() - used
        taken = server.call("GET", "/v1/models/banner")["slots"] - slots
        count = max(after.values()) - max(before.values(), default=0)
        tell(
            step,
            disk=disk,
            connections=connections,
            durable_decisions_per_second=round(told["answered"] / told["seconds"]),
            shed_per_second=round(told["shed"] / told["seconds"]),
            other_statuses=told["other"],
            socket_errors=told["socket_errors"],
            p50_ms=told["decided_p50_ms"] or told["p50_ms"],
            p99_ms=told["decided_p99_ms"] or told["p99_ms"],
            syncs=count,
            decisions_per_sync=round(taken / max(1, count), 1),
            sync_p50_ms=at(before, after, 0.5),
            sync_p95_ms=at(before, after, 0.95),
            processor_us_per_decision=round(1e6 * used / max(1, told["answered"]), 1),
            # Those that were cut off at the end of the step have a slot and no answer.
            slots_without_answer=taken - told["answered"],
            memory_mb=round(server.memory()),
        )
    server.stop()


def many_models(program, folder, count):
    data = os.path.join(folder, "many")
    server = Server(program, data)
    sets = max(1, count // 50)
    for number in range(sets):
        budget = {"epsilon": 1, "delta": 1e-6, "adjacency": "replace-one"}
        server.call("PUT", f"/v1/datasets/people-{number}", budget)
    token = server.call("POST", "/v1/tenants/main/tokens", {"role": "client"})["token"]
    start = time.monotonic()

    def make(number):
        spec = {**MODEL, "dataset": f"people-{number % sets}"}
        server.call("PUT", f"/v1/models/banner-{number}", spec)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(make, range(count)))
    made = time.monotonic() - start
    server.stop()
    server = Server(program, data)
    live = time.monotonic() - server.started
    body = {"context": {"age": 31, "hour": 12, "device": "phone"}}
    server.call("POST", f"/v1/models/banner-{count - 1}/decisions", body, token)
    first = time.monotonic() - server.started
    memory = server.memory()
    for number in range(count):
        server.call("POST", f"/v1/models/banner-{number}/decisions", body, token)
    tell(
        "many models",
        models=count,
        made_per_second=round(count / made, 1),
        live_after_s=round(live, 2),
        first_decision_after_s=round(first, 2),
        memory_mb=round(memory),
        memory_mb_after_one_decision_of_each=round(server.memory()),
        store_mb=round(sum(file.stat().st_size for file in pathlib.Path(data).rglob("*") if file.is_file()) / 1e6),
    )
    server.stop()


def vw_daemon(python, seconds):
    """As many decisions as it gives to 16 connections, of which each waits for the last answer."""
    port = free_port()
    # A group of its own: its processes end together.
    daemon = subprocess.Popen([python, HERE / "vw_daemon.py", str(port)], start_new_session=True)
    try:
        selector, waiting, times = selectors.DefaultSelector(), {}, []

        def ask(connection):
            line = f"| age:{random.randint(18, 80)} hour:{random.randint(0, 23)} device=phone\n"
            waiting[connection] = time.monotonic()
            connection.sendall(line.encode())

        for _ in range(16):
            for _ in range(600):
                try:
                    connection = socket.create_connection(("127.0.0.1", port))
                    break
                except OSError:
                    time.sleep(0.1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(connection, selectors.EVENT_READ)
            ask(connection)
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            for key, _ in selector.select(1):
                if key.fileobj.recv(4096).endswith(b"\n\n"):
                    times.append(time.monotonic() - waiting[key.fileobj])
                    ask(key.fileobj)
        times.sort()
        share = lambda part: round(1000 * times[int(part * len(times))], 2)
        tell(
            "vw --daemon, not durable",
            connections=16,
            decisions_per_second=round(len(times) / seconds),
            p50_ms=share(0.5),
            p99_ms=share(0.99),
        )
    finally:
        os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--program", default=str(ROOT / "target/release/hushstream"))
    arguments.add_argument("--seconds", type=int, default=12)
    arguments.add_argument("--models", type=int, default=5000)
    arguments.add_argument("--vw", metavar="PYTHON")
    arguments = arguments.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed: apt-get install wrk")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    version = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    tell("machine", cores=os.cpu_count(), commit=version.stdout.strip(), program=arguments.program)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        if arguments.seconds:
            under_load(arguments.program, folder, arguments.seconds, "its own")
            if shutil.which("cc"):
                slow = slow_disk(folder)
                under_load(arguments.program, folder, arguments.seconds, "slower", slow)
        if arguments.vw:
            vw_daemon(arguments.vw, arguments.seconds)
        if arguments.models:
            many_models(arguments.program, folder, arguments.models)


if __name__ == "__main__":
    main()
