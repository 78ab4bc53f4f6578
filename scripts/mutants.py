"""Changes the code that privacy rests on, one place at a time, and sees whether a test of the same
crate fails each time.

usage: mutants.py [--in-diff FILE] [--only TEXT …]

`.cargo/mutants.toml` names the files and functions. With --in-diff only the lines of a diff are
changed, with --only the mutants whose names contain one of these texts. Mutants that no test notices must stand
in `scripts/mutants-survivors.txt`, each with a reason; any other fails the run. What is left when
MUTANT_HOURS (4) are over is counted, and no failure.

Of a function whose parts are changed, the whole result is not; and of equal signs on one line, the
first is. A test that takes ten times the processor time that it takes without a mutant is stopped:
time on the clock does not count, so a busy machine changes nothing.

All mutants are in one build: in a copy of the tree the body of a function becomes
`match crate::mutant(17) { 17 => {…}, 18 => {…}, _ => {as it was} }`, and a variable of the
environment chooses. So a mutant costs no build, only tests that reach it until one of them fails.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SURVIVORS = ROOT / "scripts" / "mutants-survivors.txt"
OUT = ROOT / "target" / "mutants"
TREE = OUT / "tree"
# More are a sample, by their names.
MOST = 400
HOURS = float(os.environ.get("MUTANT_HOURS", "4"))
WORKERS = 2
# Seconds on the clock for each second of processor time, in case a mutant waits for ever.
PATIENCE = 60
# A mutant that asks for memory without end must not take the machine's.
MEMORY = 8 << 30
# Appended to each crate that has mutants.
CHOICE = """
/// The mutant of this run; 0 is none, and then a function leaves a file when it is reached.
pub(crate) fn mutant(function: usize) -> u32 {
    use std::sync::atomic::{AtomicBool, Ordering};
    static MUTANT: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var("MUTANT").map_or(0, |number| number.parse().expect("a number"))
    });
    static REACHED: [AtomicBool; 512] = [const { AtomicBool::new(false) }; 512];
    if *MUTANT == 0 && !REACHED[function].swap(true, Ordering::Relaxed) {
        let folder = std::env::var("REACHED").expect("a folder");
        std::fs::write(format!("{folder}/{function}"), "").expect("a file");
    }
    *MUTANT
}
"""
ENVIRONMENT = os.environ | {
    "CARGO_TARGET_DIR": str(OUT / "build"),
    "RUSTFLAGS": "--cap-lints allow",
    # Each worker has one core; inputs are the same each time, and one that fails stays as it is.
    "RUST_TEST_THREADS": "1",
    "PROPTEST_RNG_SEED": "1",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
}
Program = collections.namedtuple("Program", "crate path")


def known():
    """The survivors that have a reason, as often as they are listed."""
    mutants = collections.Counter()
    lines = [line for line in SURVIVORS.read_text().splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("#")]
    for line, after in zip(lines, lines[1:] + [""]):
        if not line.startswith(" "):
            if not after.startswith(" "):
                sys.exit(f"{SURVIVORS.name}: no reason under: {line}")
            mutants[line.strip()] += 1
    return mutants


def without_place(name):
    """A mutant's name without line and column, which move."""
    return re.sub(r"\.rs:\d+:\d+:", ".rs:", name)


def crate_of(mutant):
    """The folder of a mutant's crate, in the copy."""
    return TREE / mutant["file"].split("/src/")[0]


def listed(options):
    """The mutants by number, from 1 on. A constant is no function, which could choose."""
    command = ["cargo", "mutants", "--list", "--json"]
    if options.in_diff:
        command += ["--in-diff", options.in_diff]
    run = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    mutants = json.loads(run.stdout or "[]")
    mutants = thinned([m for m in mutants if m["function"]])
    mutants = [m for m in mutants if any(text in m["name"] for text in options.only)]
    return dict(enumerate(drawn(mutants), 1))


def drawn(mutants):
    """At most MOST of the mutants, of every file alike: those whose names have the least hashes, so
    that a change elsewhere changes nothing here."""
    digest = lambda mutant: hashlib.sha256(without_place(mutant["name"]).encode()).digest()
    if len(mutants) > MOST:
        print(f"{MOST} of {len(mutants)} mutants")
        last = sorted(map(digest, mutants))[MOST - 1]
        mutants = [mutant for mutant in mutants if digest(mutant) <= last]
    return mutants


def thinned(mutants):
    """The mutants without those that others stand for."""
    place = lambda mutant: (mutant["file"], str(mutant["function"]["span"]))
    in_parts = {place(mutant) for mutant in mutants if mutant["genre"] != "FnValue"}
    seen, kept = set(), []
    for mutant in mutants:
        same = mutant["span"]["start"]["line"], without_place(mutant["name"])
        is_sign = mutant["genre"] == "BinaryOperator"
        if mutant["genre"] == "FnValue" and place(mutant) in in_parts or is_sign and same in seen:
            continue
        seen.add(same)
        kept.append(mutant)
    return kept


def offsets(text, span):
    """Where a span begins and ends in a text; its lines and columns count from 1."""
    lines = text.split("\n")
    place = lambda at: sum(len(line) + 1 for line in lines[: at["line"] - 1]) + at["column"] - 1
    return place(span["start"]), place(span["end"])


def with_mutants(text, mutants):
    """A file with all its mutants, and the lines where each of them stands."""
    functions = collections.defaultdict(dict)
    for number, mutant in mutants.items():
        functions[offsets(text, mutant["function"]["span"])][number] = mutant
    parts, done = [], 0
    for (start, end), mutants in sorted(functions.items()):
        # Comments and attributes come first; after the name, the first brace begins the body.
        signature = re.compile(r"^[^/#\n]*\bfn ", re.M).search(text, text.rfind("\n", 0, start) + 1)
        opening = text.index("{", signature.end())
        # What is chosen when the program runs is not constant.
        parts += [(0, text[done : signature.start()] + signature[0].replace("const fn", "fn"))]
        choice = f"{{ match crate::mutant({min(mutants)}) {{\n"
        parts += [(0, text[signature.end() : opening] + choice)]
        for number, mutant in mutants.items():
            first, last = offsets(text, mutant["span"])
            body = text[opening:first] + mutant["replacement"] + text[last:end]
            parts += [(number, f"{number} => {body}\n")]
        parts += [(0, f"_ => {text[opening:end]}\n}} }}")]
        done = end
    parts += [(0, text[done:])]
    places, line = {}, 1
    for number, part in parts:
        places[number] = range(line, line + part.count("\n"))
        line += part.count("\n")
    return "".join(part for _, part in parts), places


def write_tree(mutants):
    """Writes the copy with these mutants, and gives the lines of each by file. What did not change
    keeps its time, and is not built anew."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.split("\0")
    contents = {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    places = {}
    for file in {mutant["file"] for mutant in mutants.values()}:
        of_file = {number: mutant for number, mutant in mutants.items() if mutant["file"] == file}
        text, places[file] = with_mutants(contents[file].decode(), of_file)
        contents[file] = text.encode()
    for crate in set(map(crate_of, mutants.values())):
        contents[f"{crate.relative_to(TREE)}/src/lib.rs"] += CHOICE.encode()
    for path in TREE.rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in contents:
            path.unlink()
    for name, content in contents.items():
        path = TREE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return places


def built(mutants):
    """The mutants that compile, and the programs of their crates' tests with them inside: what has
    an error is left out, until none has."""
    command = ["cargo", "test", "--no-run", "--lib", "--tests", "--locked", "--message-format=json"]
    for package in sorted({mutant["package"] for mutant in mutants.values()}):
        command += ["-p", package]
    while mutants:
        places = write_tree(mutants)
        run = subprocess.run(
            command, cwd=TREE, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        reports = [json.loads(line) for line in run.stdout.splitlines()]
        if run.returncode == 0:
            programs = [report for report in reports if report.get("executable")]
            return mutants, [
                Program(pathlib.Path(program["manifest_path"]).parent, program["executable"])
                for program in programs
            ]
        errors = [report["message"] for report in reports if report["reason"] == "compiler-message"]
        wrong = {
            number
            for error in errors if error["level"] == "error"
            for span in error["spans"] if span["is_primary"]
            for number, lines in places.get(span["file_name"], {}).items()
            if number and span["line_start"] in lines
        }
        if not wrong:
            print("".join(error["rendered"] for error in errors))
            sys.exit(f"The copy does not compile, and no mutant is why: {TREE}")
        mutants = {number: mutant for number, mutant in mutants.items() if number not in wrong}
    return {}, []


def first_failure(program, seconds, variables, *arguments):
    """The first test of a program that fails, "timeout", or nothing; and its processor time, of
    which it has so many seconds."""
    with tempfile.TemporaryDirectory(dir=OUT) as scratch:
        limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(int(seconds)), program.path]
        run = subprocess.Popen(
            [*limited, *arguments], cwd=program.crate, text=True, errors="replace",
            env=ENVIRONMENT | variables | {"TMPDIR": scratch},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        late = threading.Event()
        stop = lambda: os.killpg(run.pid, signal.SIGKILL)
        timer = threading.Timer(PATIENCE * seconds, lambda: (late.set(), stop()))
        timer.start()
        test, has_failed = "no test", False
        for line in run.stdout:
            if line.startswith("test "):
                test = line.removeprefix("test ").split(" ... ")[0]
            if line.endswith("... FAILED\n"):
                has_failed = True
                stop()
                break
        timer.cancel()
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        used = used.ru_utime + used.ru_stime
        if run.returncode == 0:
            return None, used
        # A shell may have told of the signal by a number.
        over = run.returncode in (-signal.SIGXCPU, 128 + signal.SIGXCPU)
        over = over or not has_failed and used >= int(seconds)
        return ("timeout" if late.is_set() or over else test), used


def measured(program):
    """A program, its processor time without a mutant, and the functions that it reaches."""
    with tempfile.TemporaryDirectory(dir=OUT) as reached:
        failure, seconds = first_failure(program, 3600, {"REACHED": reached})
        if failure:
            sys.exit(f"Without a mutant this fails: {failure}")
        functions = {int(name) for name in os.listdir(reached)}
    return seconds, program, functions


def noticed(number, programs, before, deadline):
    """The test that notices a mutant. First come those that noticed others of the same file, then
    the programs, which come with their time, the fastest first."""
    tries = [(seconds, program, ("--exact", test)) for seconds, program, test in before]
    tries += [(seconds, program, ()) for seconds, program in programs]
    for seconds, program, arguments in tries:
        if time.monotonic() > deadline:
            return "not tried"
        variables = {"MUTANT": str(number)}
        failure, _ = first_failure(program, 30 + 10 * seconds, variables, *arguments)
        if failure:
            if failure != "timeout" and (seconds, program, failure) not in before:
                before.append((seconds, program, failure))
            return failure
    return "missed"


def main(options):
    """Runs all, or those of a diff."""
    start = time.monotonic()
    mutants, reasons = listed(options), known()
    print(f"{len(mutants)} mutants", flush=True)
    compiled, programs = built(mutants)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    results = {number: "unviable" for number in mutants if number not in compiled}
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        times = sorted(pool.map(measured, programs))
        jobs, before, first = {}, collections.defaultdict(list), {}
        for number, mutant in compiled.items():
            function = first.setdefault((mutant["file"], str(mutant["function"]["span"])), number)
            own = [
                (seconds, program)
                for seconds, program, reached in times
                if program.crate == crate_of(mutant) and function in reached
            ]
            arguments = number, own, before[mutant["file"]], start + 3600 * HOURS
            jobs[pool.submit(noticed, *arguments)] = number
        for job in concurrent.futures.as_completed(jobs):
            number = jobs[job]
            results[number] = job.result()
            minutes = (time.monotonic() - start) / 60
            print(f"{minutes:.1f} min {mutants[number]['name']}: {results[number]}", flush=True)
    kinds = ("missed", "timeout", "unviable", "not tried")
    counts = collections.Counter(
        result if result in kinds else "caught" for result in results.values()
    )
    print(", ".join(f"{counts[kind]} {kind}" for kind in ("caught", *kinds)))
    missed = (mutant for number, mutant in mutants.items() if results[number] == "missed")
    new = collections.Counter(without_place(mutant["name"]) for mutant in missed) - reasons
    for name in new.elements():
        print(f"no test notices, and no reason is given: {name}")
    if new:
        sys.exit(f"Write a test, or a reason into {SURVIVORS.relative_to(ROOT)}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--in-diff", metavar="FILE", help="only the lines of this diff")
    parser.add_argument("--only", metavar="TEXT", nargs="+", default=[""], help="only names that contain one")
    main(parser.parse_args())
