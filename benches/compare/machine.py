"""What this was measured on, without names of hosts or folders."""

import os
import platform
import re
import subprocess

from programs import PYTHONS, ROOT

PACKAGES = {
    "peers": ["vowpalwabbit", "scikit-learn", "river", "diffprivlib", "opendp", "dp-accounting", "pandas", "numpy"],
    "jax": ["jax", "jax_privacy"],
    "tensorflow": ["tensorflow", "tensorflow-privacy"],
}
ASK = "import importlib.metadata as m, sys\nfor n in sys.argv[1:]:\n print(n, m.version(n))"


def first(pattern, path):
    """The first match in a file, or None."""
    try:
        found = re.search(pattern, open(path).read())
    except OSError:
        return None
    return found and found[1].strip()


def output(*command):
    """What a command prints, or nothing if it does not run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def describe():
    """(what, value) pairs."""
    cores = len(os.sched_getaffinity(0))
    memory = first(r"MemTotal:\s+(\d+)", "/proc/meminfo")
    features = [name for name in ("aes", "vaes", "avx2", "avx512f") if re.search(rf"\b{name}\b", first(r"flags\s*:(.*)", "/proc/cpuinfo") or "")]
    model = first(r"model name\s*:(.*)", "/proc/cpuinfo") or platform.machine()
    yield "processor", f"{model}, {cores} cores ({' '.join(features)})"
    if memory:
        yield "memory", f"{int(memory) / 2**20:.0f} GiB"
    release = re.match(r"[0-9.]*", platform.release())[0]
    yield "system", f"{platform.system()} {release}"
    yield "load when it began", f"{os.getloadavg()[0]:.2f}"
    version = output("git", "describe", "--always", "--dirty", "--exclude", "*")
    yield "hushstream", version or "not under version control"
    yield "compiler", output("rustc", "--version").split(" (")[0] or "unknown"
    yield "Python", platform.python_version()
    for name, packages in PACKAGES.items():
        for package in packages:
            told = output(PYTHONS[name], "-c", ASK, package)
            yield tuple(told.split()) if told else (package, "not installed")
    yield "valgrind", output("valgrind", "--version").removeprefix("valgrind-") or "not installed"
