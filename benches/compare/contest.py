"""Contenders that take turns: each runs once in every round, so that a slow moment of the machine hits all of them. Medians over the rounds."""

import dataclasses
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import time


@dataclasses.dataclass
class Contender:
    """One program with its arguments. It prints JSON on its last line (peers, our contestants) or as a whole (`hushstream learn --json`)."""

    name: str
    command: list
    # What the report shows as the command.
    shown: str
    # `hushstream learn`: timed from outside, start and end of the process included. All others time themselves, without the start of their interpreter.
    is_learn: bool = False
    # Files to remove before each run.
    leaves: tuple = ()
    # Standard input: a function that writes to a pipe.
    feed: object = None
    # Runs in the first round only: its answer matters, its time hardly.
    once: bool = False


@dataclasses.dataclass
class Run:
    """One run: wall and processor seconds, units done, peak memory in bytes."""

    seconds: float
    units: int
    cpu: float | None
    peak: int | None
    epsilon: float | None = None

    def each(self):
        """Seconds a unit."""
        return self.seconds / self.units


@dataclasses.dataclass
class Outcome:
    """All runs of one contender, or why there are none."""

    contender: Contender
    runs: list = dataclasses.field(default_factory=list)
    trouble: str | None = None

    def each(self):
        """Seconds a unit: (median, least, greatest)."""
        times = [run.each() for run in self.runs]
        return statistics.median(times), min(times), max(times)

    def cpu(self):
        """Processor seconds a unit, if known."""
        times = [run.cpu / run.units for run in self.runs if run.cpu is not None]
        return statistics.median(times) if times else None

    def peak(self):
        """Bytes, the median over runs."""
        peaks = [run.peak for run in self.runs if run.peak is not None]
        return statistics.median(peaks) if peaks else None

    def epsilon(self):
        """The privacy loss that was computed."""
        return self.runs[0].epsilon if self.runs else None


class Failed(Exception):
    """A contender that does not run here."""


def remove(paths):
    """Files and folders of an earlier run."""
    for path in paths:
        subprocess.run(["rm", "-rf", path], check=True)


def run_once(contender, folder):
    """One run in `folder`."""
    remove(folder / name for name in contender.leaves)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    feed = subprocess.PIPE if contender.feed else subprocess.DEVNULL
    # Standard error goes to a file: a pipe that nobody reads could fill.
    with open(folder / "stderr", "w+") as errors:
        process = subprocess.Popen(contender.command, cwd=folder, stdin=feed, stdout=subprocess.PIPE, stderr=errors)
        if contender.feed:
            try:
                with process.stdin as pipe:
                    contender.feed(pipe)
            except BrokenPipeError:
                pass
        text = process.stdout.read().decode()
        process.wait()
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode != 0:
            errors.seek(0)
            lines = [line.strip() for line in errors.read().splitlines() if line.strip()]
            raise Failed(lines[-1] if lines else f"exit status {process.returncode}")
    if contender.is_learn:
        told = json.loads(text)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run(seconds, told["rounds"], cpu, told["peak_memory_bytes"])
    told = json.loads(text.splitlines()[-1])
    return Run(told["seconds"], told["units"], told.get("cpu"), told.get("peak"), told.get("epsilon"))


def hold(contenders, folder, cores, rounds):
    """Everyone `rounds` times on the first `cores` cores, in turn."""
    allowed = os.sched_getaffinity(0)
    outcomes = [Outcome(contender) for contender in contenders]
    try:
        os.sched_setaffinity(0, set(sorted(allowed)[:cores]))
        for number in range(rounds):
            for outcome in outcomes:
                if outcome.trouble or (outcome.contender.once and number > 0):
                    continue
                try:
                    outcome.runs.append(run_once(outcome.contender, folder))
                except (Failed, OSError, ValueError, KeyError, IndexError) as error:
                    outcome.trouble = str(error) or type(error).__name__
                    print(f"  {outcome.contender.name}: {outcome.trouble}\n    {shlex.join(map(str, outcome.contender.command))}", file=sys.stderr, flush=True)
    finally:
        os.sched_setaffinity(0, allowed)
    for outcome in outcomes:
        if outcome.trouble:
            outcome.runs.clear()
    return outcomes
