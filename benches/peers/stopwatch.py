"""What a peer tells about itself: one JSON object on its last line."""

import json
import resource
import time


def peak_bytes():
    """The most memory this process has had; what it inherited from its parent's does not count."""
    with open("/proc/self/status") as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")), None)


def measured(run, found=None):
    """Runs `run()`, which answers how many units (rows, samples, steps) it did and may fill `found`; the start of the interpreter and its imports do not count."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    units = run()
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"seconds": seconds, "cpu": cpu, "units": units, "peak": peak_bytes(), **(found or {})}))
