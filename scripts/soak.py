"""Endurance: kills the program at random and breaks what it stands on, and looks at what is left.

    python3 scripts/soak.py --kills 300 --faults 100 --serve 30 --seed 1 [--json FILE]

Every case begins a run with a seed (so that an uninterrupted run of the same bytes exists), hurts it
in one way, goes on as a person would (--resume), and then asks:

- was anything that had been released lost or drawn again? Whole lines of the file of releases, and
  answers of the server, must be there again, byte for byte;
- is the end the same? Releases, model and table are those of the uninterrupted run, unless an old
  copy was restored, where a new instance of noise must begin;
- was anything paid for twice, or not at all? The ledger holds one charge, and its share is that of
  the uninterrupted run;
- was the message clear? Exit code 2, one line that begins with "hushstream: ", and never a panic.

It stops at the first case that fails, names it, and keeps its folder.
"""

import argparse
import collections
import http.client
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "--target y --ignore who,day --bounds a=0:1,b=0:10 --vocabulary c=x|y|z"
BUDGET = "--epsilon 1 --delta 1e-6"
KEPT = "--state state --ledger ledger --releases releases --seed-insecure 7"
HASTE = "--sync-milliseconds 0"
NOBODY = 65534
DAY = 86_400


# faults.c, compiled; where there is no compiler, what it plays is left out.
PLAYED = ROOT / "target/faults.so"


def compiled():
    source = Path(__file__).with_name("faults.c")
    command = ["cc", "-Wall", "-shared", "-fPIC", "-o", PLAYED, source, "-ldl"]
    return shutil.which("cc") is not None and subprocess.run(command).returncode == 0


class Wrong(Exception):
    """A case that must not be."""


def rows(count):
    """A table that is the same every time."""
    draw = random.Random(5)
    lines = ["who,day,a,b,c,y"]
    for row in range(count):
        a, c = draw.random(), draw.choice("xyz")
        y = int((a > 0.5) != (c == "x"))
        day = f"2013-01-{1 + row * 28 // count:02}"
        lines.append(f"p{row},{day},{a:.3f},{10 * draw.random():.2f},{c},{y}")
    return "\n".join(lines) + "\n"


KINDS = {
    "tables": f"learn d.csv {SCHEMA} {BUDGET} --batch 3 --model model {KEPT} {HASTE}",
    "linear": f"learn d.csv {SCHEMA} {BUDGET} --recipe pftal-convex --sum blt --batch 2 --model model {KEPT} {HASTE}",
    "second order": f"learn d.csv {SCHEMA} {BUDGET} --recipe pqftl --batch 5 --model model {KEPT} {HASTE}",
    "pure": f"learn d.csv {SCHEMA} --epsilon 1 --recipe pftal-convex --batch 4 --model model {KEPT} {HASTE}",
    "experts": f"learn d.csv --task experts --features a,y --bounds a=0:1,y=0:1 {BUDGET} --model model {KEPT} {HASTE}",
    "iterates": f"learn d.csv {SCHEMA} {BUDGET} --recipe pigd --model model {KEPT} {HASTE}",
    "statistics": f"track d.csv --by day --time day --mean a=0:1 --group c=x|y|z {BUDGET} --csv model {KEPT} {HASTE}",
}


class Case:
    """A folder with the data, and the program in it."""

    def __init__(self, program, kind, count):
        self.program, self.flags = program, KINDS[kind].split()
        self.folder = Path(tempfile.mkdtemp(prefix="soak-"))
        (self.folder / "d.csv").write_text(rows(count))

    def path(self, name):
        return self.folder / name

    def bytes(self, name):
        path = self.path(name)
        return path.read_bytes() if path.exists() else b""

    def start(self, more=(), limits=(), flags=None, user=None, played=None):
        def prepare():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error of the write, not a kill
            for what, most in limits:
                resource.setrlimit(what, (most, most))

        command = [self.program, *(flags or self.flags), *more]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=prepare,
            user=user,
            env={**os.environ, "RUST_BACKTRACE": "0", **(played or {})},
        )

    def run(self, *more, **how):
        child = self.start(more, **how)
        error = child.communicate(timeout=300)[1].decode(errors="replace")
        return child.returncode, error

    def resumes(self):
        return ["--resume"] if self.path("state/run.json").exists() else []

    def charges(self):
        """How many charges there are, and the share of the budget."""
        command = [self.program, "ledger", "show", "ledger", "--json"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            return None
        told = json.loads(done.stdout)
        return len(told["runs"]), told["used"], told["used_delta"]

    def released(self):
        """Whole lines: a torn one was never a release."""
        return self.bytes("releases")[: self.bytes("releases").rfind(b"\n") + 1]


def clear(code, error):
    """An end of its own accord is an end in words."""
    last = error.strip().splitlines()[-1] if error.strip() else ""
    if "panicked" in error or code not in (0, 2) or (code == 2 and not last.startswith("hushstream: ")):
        raise Wrong(f"exit {code}, not in clear words: {error[-600:]}")
    return last


def holds(case, seen, whole):
    """What was released is still there, and nobody paid twice."""
    now = case.released()
    if not now.startswith(seen):
        raise Wrong("a release that had left is not there any more, or is another")
    paid = case.charges()
    if paid and (paid[0] > 1 or paid[1] > whole["paid"][1]):
        raise Wrong(f"charged {paid}, and once is {whole['paid']}")
    return now


def ends_the_same(case, whole):
    if case.released() != whole["releases"] or case.bytes("model") != whole["model"]:
        raise Wrong("the end is not that of a run that was never interrupted")
    if case.charges() != whole["paid"]:
        raise Wrong(f"the ledger holds {case.charges()}, not {whole['paid']}")


def uninterrupted(program, kind, count):
    case = Case(program, kind, count)
    begin = time.monotonic()
    code, error = case.run()
    if code != 0:
        raise Wrong(f"{kind} does not run at all: {error}")
    whole = {
        "seconds": time.monotonic() - begin,
        "releases": case.released(),
        "model": case.bytes("model"),
        "paid": case.charges(),
    }
    if not whole["releases"] or not whole["model"] or not whole["paid"]:
        raise Wrong(f"{kind} left nothing to compare with")
    shutil.rmtree(case.folder)
    return whole


def killed(case, whole, draw, most):
    """Kills a run up to so many times. Returns how many kills hit it, and what had left by then."""
    hits, seen = 0, b""
    for turn in range(most):
        child = case.start(case.resumes())
        # Half of the kills come while it is being opened.
        time.sleep(whole["seconds"] * draw.random() * (0.15 if turn % 2 else 0.9))
        child.kill()
        error = child.communicate()[1].decode(errors="replace")
        if child.returncode != -signal.SIGKILL:
            clear(child.returncode, error)
            if child.returncode != 0:
                raise Wrong(f"it failed by itself: {error}")
            seen = holds(case, seen, whole)
            break
        hits += 1
        seen = holds(case, seen, whole)
    return hits, seen


def kills(case, whole, draw, told):
    hits, seen = killed(case, whole, draw, draw.randint(1, 8))
    told["kills"] += hits
    if hits:
        code, error = case.run(*case.resumes())
        clear(code, error)
        if code != 0:
            raise Wrong(error)
    holds(case, seen, whole)
    ends_the_same(case, whole)


def limited(what, low, high):
    def fault(case, whole, draw, told):
        """A limit of the system, then none."""
        seen = b""
        for _ in range(draw.randint(1, 4)):
            most = int(low * (high / low) ** draw.random())
            code, error = case.run(*case.resumes(), limits=[(what, most)])
            # Without memory a program may be ended by the system's own means: that is a kill.
            if what == resource.RLIMIT_AS and (code < 0 or code == 127 or "out of memory" in error):
                told["ended by the system"] += 1
            else:
                clear(code, error)
                told["refused in words" if code == 2 else "went through"] += 1
            seen = holds(case, seen, whole)
            if code == 0:
                break
        else:
            code, error = case.run(*case.resumes())
            clear(code, error)
            if code != 0:
                raise Wrong(error)
        holds(case, seen, whole)
        ends_the_same(case, whole)

    return fault


def played(**numbers):
    """The environment in which faults.c plays a disk or a clock."""
    stated = {f"FAULT_{name.upper()}": str(number) for name, number in numbers.items()}
    return {"LD_PRELOAD": str(PLAYED), **stated}


def no_sync(case, whole, draw, told):
    """A sync of the disk fails, and what it should have kept is gone."""
    seen = b""
    for _ in range(draw.randint(1, 6)):
        fails = int(400 ** draw.random())
        code, error = case.run(*case.resumes(), played=played(sync=fails))
        clear(code, error)
        told["refused in words" if code == 2 else "went through"] += 1
        seen = holds(case, seen, whole)
        if code == 0:
            break
    if code != 0:
        code, error = case.run(*case.resumes())
        clear(code, error)
        if code != 0:
            raise Wrong(error)
    holds(case, seen, whole)
    ends_the_same(case, whole)


def jumping_clock(case, whole, draw, told):
    """Killed, with a clock that goes to another year and back."""
    seen = b""
    for _ in range(draw.randint(1, 5)):
        jump = draw.choice([-1, 1]) * int((9_000 * DAY) ** draw.random())
        playing = played(clock=int(300 ** draw.random()), jump=jump)
        child = case.start(case.resumes(), played=playing)
        time.sleep(whole["seconds"] * draw.random())
        child.kill()
        error = child.communicate()[1].decode(errors="replace")
        if child.returncode != -signal.SIGKILL:
            clear(child.returncode, error)
            if child.returncode != 0:
                raise Wrong(f"it failed by itself: {error}")
            break
        told["kills"] += 1
        seen = holds(case, seen, whole)
    else:
        code, error = case.run(*case.resumes())
        clear(code, error)
        if code != 0:
            raise Wrong(error)
    holds(case, seen, whole)
    ends_the_same(case, whole)


def full_disk(case, whole, draw, told):
    """The folder is on a small file system that others fill."""
    small = case.folder.with_name(case.folder.name + "-small")
    small.mkdir()
    size = draw.randint(64, 300)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", small], capture_output=True)
    if done.returncode != 0:
        small.rmdir()
        told["not possible here"] += 1
        return
    try:
        shutil.copy(case.path("d.csv"), small)
        home, case.folder = case.folder, small
        filler, seen = small / "filler", b""
        for _ in range(3):
            free = os.statvfs(small)
            filler.write_bytes(bytes(int(free.f_bavail * free.f_frsize * draw.random())))
            code, error = case.run(*case.resumes())
            clear(code, error)
            told["refused in words" if code == 2 else "went through"] += 1
            seen = holds(case, seen, whole)
            filler.unlink()
            if code == 0:
                break
        subprocess.run(["mount", "-o", "remount,size=20m", small], check=True)
        code, error = case.run(*case.resumes()) if code else (0, "")
        clear(code, error)
        if code != 0:
            raise Wrong(error)
        holds(case, seen, whole)
        ends_the_same(case, whole)
        case.folder = home
    finally:
        subprocess.run(["umount", small], check=True)
        small.rmdir()


def read_only(case, whole, draw, told):
    """Folders that may not be written, for somebody who is not root."""
    root = os.geteuid() == 0
    if root:
        case.folder.chmod(0o777)
    user = NOBODY if root else None
    hits = 0
    if draw.random() < 0.5:
        child = case.start(user=user)
        time.sleep(whole["seconds"] * draw.random())
        child.kill()
        child.communicate()
        hits = 1
    told["kills"] += hits
    seen = case.released()
    state = case.path("state")
    closed = state if state.exists() and draw.random() < 0.5 else case.folder
    if root:
        os.chown(case.folder, NOBODY, NOBODY)
    mode = closed.stat().st_mode
    closed.chmod(0o555)
    code, error = case.run(*case.resumes(), user=user)
    closed.chmod(mode)
    clear(code, error)
    told["refused in words" if code == 2 else "went through"] += 1
    seen = holds(case, seen, whole)
    if code != 0:
        code, error = case.run(*case.resumes(), user=user)
        clear(code, error)
        if code != 0:
            raise Wrong(error)
    holds(case, seen, whole)
    ends_the_same(case, whole)


def damaged(how):
    def fault(case, whole, draw, told):
        """Files of a killed run are torn or rot."""
        hits, seen = killed(case, whole, draw, draw.randint(1, 3))
        told["kills"] += hits
        names = ["ledger", "ledger.witness", "state/journal", "state/run.json", "state/key"]
        names = [name for name in names if case.bytes(name)]
        if not names:
            return
        name = draw.choice(names)
        content = bytearray(case.bytes(name))
        if how == "torn":
            content = content[: draw.randrange(len(content))]
        else:
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        begun = bool(case.bytes("state/journal"))
        case.path(name).write_bytes(content)
        code, error = case.run(*case.resumes())
        clear(code, error)
        told[f"{name}: {'refused in words' if code == 2 else 'went on'}"] += 1
        paid = case.charges()
        if paid and paid[0] > 1 or code == 0 and paid != whole["paid"]:
            raise Wrong(f"charged {paid} after {name} was {how}, and once is {whole['paid']}")
        if code == 0 and not case.released().startswith(seen):
            raise Wrong(f"releases are others after {name} was {how}")
        if code == 2 and case.released() != seen and not case.released().startswith(seen):
            raise Wrong(f"releases are gone after {name} was {how}")
        # The journal names its key. Before its first frame nothing was drawn with any.
        if code == 0 and name == "state/key" and begun and case.released() != whole["releases"]:
            raise Wrong("it went on with another key, and released something else")

    return fault


def twice(case, whole, draw, told):
    """Two processes on one ledger and one folder."""
    first, second = case.start(), case.start()
    if draw.random() < 0.3:
        time.sleep(whole["seconds"] * draw.random())
        first.kill()
    ends = []
    for child in (first, second):
        error = child.communicate()[1].decode(errors="replace")
        if child.returncode != -signal.SIGKILL:
            clear(child.returncode, error)
        ends.append(child.returncode)
    told["one of two refused" if 2 in ends else "one after the other"] += 1
    holds(case, b"", whole)
    if 0 not in ends:
        code, error = case.run(*case.resumes())
        clear(code, error)
        if code != 0:
            raise Wrong(error)
    ends_the_same(case, whole)


def old_copies(case, whole, draw, told):
    """A state folder from a backup; the ledger is never restored."""
    hits, seen = killed(case, whole, draw, 1)
    told["kills"] += hits
    if not case.resumes() or case.bytes("model"):
        return
    shutil.copytree(case.path("state"), case.path("backup"))
    hits, seen = killed(case, whole, draw, draw.randint(1, 2))
    told["kills"] += hits
    shutil.rmtree(case.path("state"))
    case.path("backup").rename(case.path("state"))
    code, error = case.run(*case.resumes())
    last = clear(code, error)
    told["refused in words" if code == 2 else "went on"] += 1
    now = case.released()
    if not now.startswith(seen):
        raise Wrong(f"what had left was released again, otherwise: {last}")
    numbers = [json.loads(line).get("release") for line in now.splitlines()]
    if None not in numbers and numbers != sorted(set(numbers)):
        raise Wrong(f"a release twice: {numbers}")
    paid = case.charges()
    if paid and paid[0] != 1:
        raise Wrong(f"charged {paid}")


def old_ledger(case, whole, draw, told):
    """A ledger from before a charge, which its witness knows of."""
    other = [*case.flags]
    for name in ("state", "releases", "model"):
        other = [f"{name}2" if word == name else word for word in other]
    wide = ["--total-epsilon", "3", "--total-delta", "3e-6"]
    if "--delta" not in case.flags:
        wide = wide[:2]
    code, error = case.run(*wide)
    clear(code, error)
    backup = case.bytes("ledger")
    code, error = case.run(*wide, flags=other)
    clear(code, error)
    if code != 0:
        raise Wrong(error)
    case.path("ledger").write_bytes(backup)
    third = [f"{word}3" if word in ("state2", "releases2", "model2") else word for word in other]
    code, error = case.run(*wide, flags=third)
    clear(code, error)
    if code != 2:
        raise Wrong("an old copy of a ledger was charged to")
    told["refused in words"] += 1


FAULTS = {
    "a limit on the size of files": limited(resource.RLIMIT_FSIZE, 64, 60_000),
    "a limit on open files": limited(resource.RLIMIT_NOFILE, 4, 24),
    "a limit on memory": limited(resource.RLIMIT_AS, 20 << 20, 800 << 20),
    "a full disk": full_disk,
    "a sync that fails": no_sync,
    "a clock that jumps": jumping_clock,
    "a folder that may not be written": read_only,
    "torn files": damaged("torn"),
    "rotten files": damaged("rotten"),
    "two processes at once": twice,
    "an old copy of the state": old_copies,
    "an old copy of the ledger": old_ledger,
}


NEED_COMPILER = ["a sync that fails", "a clock that jumps"]


class Server:
    """`hushstream serve` in a folder, and a client."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self, playing=None):
        """Whether it answers; one whose disk fails may end, in words."""
        flags = ["serve", "--data", "data", "--listen", f"127.0.0.1:{self.port}", "--no-ops"]
        self.child = subprocess.Popen(
            [self.program, *flags, "--insecure-simulated"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **(playing or {})},
        )
        begin = time.monotonic()
        while time.monotonic() - begin < 60:
            if self.child.poll() is not None:
                error = self.child.communicate()[1].decode(errors="replace")
                if playing and "panicked" not in error:
                    return False
                raise Wrong(f"the server ended: {error[-600:]}")
            try:
                if self.call("GET", "/v1/readyz")[0] == 200:
                    self.token = (self.folder / "data/operator.token").read_text().strip()
                    return True
            except OSError:
                time.sleep(0.02)
        if playing:
            return False
        raise Wrong("the server does not answer")

    def call(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        head = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            head["Content-Type"] = "application/json"
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, head)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
            error = self.child.communicate()[1].decode(errors="replace")
            if "panicked" in error:
                raise Wrong(error[-600:])


class Unanswered(Exception):
    """The server could not keep what it was told, and said so."""


def serve(program, draw, told, most):
    """A server that is killed, whose disk fails or whose clock jumps: answers, rewards and policies
    that were told stay as they were."""
    folder = Path(tempfile.mkdtemp(prefix="soak-serve-"))
    server = Server(program, folder)
    server.start()
    operator = server.token
    ask = lambda *what: server.call(*what, token=operator)
    status, body = ask("PUT", "/v1/datasets/people", {"epsilon": 3, "delta": 1e-6, "adjacency": "replace-one"})
    model = {
        "dataset": "people", "task": "decide", "actions": ["red", "green"],
        "schema": {"bounds": {"age": [0, 100]}, "vocabulary": {"device": ["phone", "desk"]}},
        "batch": 7, "batches": 400, "close_after": 3600, "reward_wait": 0,
        "epsilon": 1, "delta": 1e-7, "simulated": 9,
    }
    status, body = ask("PUT", "/v1/models/banner", model)
    if status != 201:
        raise Wrong(f"{status} {body}")
    paid = json.loads(ask("GET", "/v1/datasets/people")[1])
    role = {"role": "client", "models": ["banner"]}
    client = json.loads(ask("POST", "/v1/tenants/main/tokens", role)[1])["token"]
    decided, rewarded, policies, number, unsure = {}, set(), {}, 0, 0
    hits, playing, up, jumps = 0, None, True, 0

    def tell(*what):
        status, body = server.call(*what, client)
        if status >= 500 and playing:
            raise Unanswered
        return status, body

    while hits < most:
        end = time.monotonic() + draw.random() * 1.5
        try:
            while up and time.monotonic() < end:
                number += 1
                event = f"e{number}"
                context = {"age": number * 37 % 100, "device": draw.choice(["phone", "desk"])}
                question = {"event_id": event, "context": context}
                unsure += 1
                status, body = tell("POST", "/v1/models/banner/decisions", question)
                if status not in (200, 201):
                    raise Wrong(f"{status} {body}")
                unsure -= 1
                decided[event] = (question, body)
                if draw.random() < 0.8:
                    reward = {"value": number % 2, "reward_id": f"r{number}"}
                    path = f"/v1/models/banner/decisions/{event}/reward"
                    status, body = tell("POST", path, reward)
                    if status not in (200, 201, 204, 410):
                        raise Wrong(f"{status} {body}")
                    if status != 410:
                        rewarded.add((path, json.dumps(reward)))
                if number % 10 == 0:
                    now = json.loads(tell("GET", "/v1/models/banner", None)[1])
                    version = now["policy"]
                    if version:
                        path = f"/v1/models/banner/policy?version={version}"
                        status, body = tell("GET", path, None)
                        if status == 200:
                            policies.setdefault(version, body)
        except Unanswered:
            told["lives that said that the disk fails"] += 1
        except OSError as error:
            if not playing:
                raise Wrong(f"the server did not answer: {error}") from error
            told["lives that ended when the disk failed"] += 1
        server.kill()
        hits += 1
        playing, up = None, server.start()
        for event in list(decided)[-25:]:
            question, body = decided[event]
            status, again = server.call("POST", "/v1/models/banner/decisions", question, client)
            same = ("action", "probability", "policy")
            before, after = json.loads(body), json.loads(again)
            if status == 410:  # its batch is closed, and nobody gets another answer
                told["decisions asked again, closed"] += 1
                continue
            told["decisions asked again, the same"] += 1
            if status not in (200, 201) or any(before[key] != after[key] for key in same):
                raise Wrong(f"a decision is another after a kill: {body} {again}")
        for version, body in policies.items():
            path = f"/v1/models/banner/policy?version={version}"
            status, again = server.call("GET", path, token=client)
            if status != 200 or again != body:
                raise Wrong(f"policy {version} is another after a kill")
        now = json.loads(ask("GET", "/v1/datasets/people")[1])
        if now["used"] != paid["used"] or len(now["runs"]) != 1:
            raise Wrong(f"the ledger says {now}, and said {paid}")
        slots = json.loads(server.call("GET", "/v1/models/banner", token=client)[1])["slots"]
        # One that was asked for and not answered may be there, and no other.
        if not len(decided) <= slots <= len(decided) + unsure + 7 * jumps:
            raise Wrong(f"{slots} slots of {len(decided)} decisions after {hits} kills")
        # What the next life stands on.
        way = draw.choice(["sound", "sync", "clock"]) if PLAYED.exists() else "sound"
        if way != "sound":
            jump = draw.choice([-1, 1]) * int((9_000 * DAY) ** draw.random())
            # The clock jumps when this life begins, and back when it ends: each may close a batch.
            jumps += 2 * (way == "clock")
            playing = played(sync=int(300 ** draw.random())) if way == "sync" else played(clock=1, jump=jump)
            server.kill()
            up = server.start(playing)
            told[f"lives with a {way} that fails" if way == "sync" else "lives with another clock"] += 1
            if way == "clock":
                playing = None
    server.kill()
    told["kills"] += hits
    told["decisions"] += len(decided)
    told["rewards"] += len(rewarded)
    told["policies"] += len(policies)
    shutil.rmtree(folder)


def main():
    flags = argparse.ArgumentParser(description="See the beginning of this file.")
    flags.add_argument("--program", default=str(ROOT / "target/debug/hushstream"))
    flags.add_argument("--kills", type=int, default=100, help="kills of learn and track")
    flags.add_argument("--faults", type=int, default=40, help="cases of other faults")
    flags.add_argument("--serve", type=int, default=10, help="kills of serve")
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--only", action="append", help="a fault by its name")
    flags.add_argument("--first", type=int, default=0, help="the number of the first fault")
    flags.add_argument("--rows", type=int, default=150)
    flags.add_argument("--json", help="a file for the counts")
    stated = flags.parse_args()
    program = str(Path(stated.program).resolve())
    wholes, begin = {}, time.monotonic()
    counts = collections.defaultdict(collections.Counter)

    def play(name, case_of, number):
        # A case is made from its own number alone, so that it can be played again by itself.
        draw = random.Random(f"{stated.seed} {name} {number}")
        kind = draw.choice(sorted(KINDS))
        if kind not in wholes:
            wholes[kind] = uninterrupted(program, kind, stated.rows)
        case = Case(program, kind, stated.rows)
        try:
            case_of(case, wholes[kind], draw, counts[name])
        except (Wrong, subprocess.TimeoutExpired) as error:
            sys.exit(f"WRONG: {name}, case {number}, {kind}, seed {stated.seed}, in {case.folder}:\n{error}")
        counts[name]["cases"] += 1
        shutil.rmtree(case.folder, ignore_errors=True)

    number = 0
    while counts["kills"]["kills"] < stated.kills:
        play("kills", kills, number)
        number += 1
    names = [name for name in sorted(FAULTS) if not stated.only or name in stated.only]
    if not compiled():
        print("NOT TRIED: there is no C compiler for faults.c: " + ", ".join(NEED_COMPILER))
        names = [name for name in names if name not in NEED_COMPILER]
    for number in range(stated.first, stated.first + stated.faults):
        name = names[number % len(names)]
        play(name, FAULTS[name], number)
    if stated.serve:
        try:
            serve(program, random.Random(f"{stated.seed} serve"), counts["serve"], stated.serve)
        except Wrong as error:
            sys.exit(f"WRONG: serve, seed {stated.seed}:\n{error}")
    seconds = round(time.monotonic() - begin)
    for name, told in counts.items():
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(told.items())))
    print(f"nothing was wrong, in {seconds} s")
    if stated.json:
        told = {"seed": stated.seed, "seconds": seconds, "counts": counts}
        Path(stated.json).write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
