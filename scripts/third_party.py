"""Writes THIRD-PARTY.md: what the program is built from, by whom, under which licence, and why each
crate that we name is trusted. With --check it fails if the file differs, or if a reason is missing.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLATFORM = "x86_64-unknown-linux-gnu"
# The crates whose dependencies reach users: the program with all its features, the library, the
# Python module. Tests and the lab's own tools use more.
SHIPPED = {"hushstream-cli", "hushstream", "hushstream-python", "hushstream-postgres"}
# Who keeps it, and what would go wrong if it were wrong.
WHY = {
    "aes": "RustCrypto. The noise is AES-256 in counter mode; oracle/noise.py, which shares no code with it, gives the same draws",
    "aes-gcm-siv": "RustCrypto. Seals noise keys at rest under the master key",
    "anyhow": "David Tolnay. Errors of the program; no influence on what is released",
    "arrow-array": "Apache Arrow. Record batches of library callers and Parquet; rows are clipped after it",
    "arrow-schema": "Apache Arrow. As arrow-array",
    "axum": "Tokio. HTTP of the server; who is told what is decided by our own types",
    "base64": "Marshall Pierce. Partial sums in JSON, which are checked after it",
    "bytemuck": "Lokathor. Words and bytes as the same memory, checked when compiled",
    "bytes": "Tokio. Buffers",
    "clap": "clap-rs. Flags; a wrong flag is a wrong run, and plans are printed before they are charged",
    "clap_complete": "clap-rs. Completion scripts",
    "clap_mangen": "clap-rs. Manual pages",
    "comfy-table": "Arne Beer. Tables on the terminal",
    "crc32fast": "Alex Crichton and others. Detects accidents in files, and no forger: a fault would be a false alarm or a missed one",
    "dashu-int": "cmpute. Exact fallbacks of the samplers, in rare draws; compared with Python's integers by oracle/noise.py",
    "deadpool-postgres": "Michael P. Jung. Connections to PostgreSQL",
    "flate2": "rust-lang. Gzip, over zlib-rs in Rust; input alone",
    "futures-core": "rust-lang. The trait of streams",
    "getrandom": "rust-random. Keys come from the operating system through it",
    "hkdf": "RustCrypto. Keys of mechanisms from the run's key; oracle/noise.py computes the same ones",
    "hmac": "RustCrypto. Secrets of the server",
    "hpke": "Michael Rosenberg. RFC 9180 for sealed partial sums: a fault would show rows to those who carry the sums",
    "hybrid-array": "RustCrypto. Blocks of the cipher",
    "libm": "rust-lang. Mathematics that is the same on every platform; error bounds of what the guarantee needs are our own",
    "memchr": "Andrew Gallant. Ends of lines",
    "nalgebra": "Dimforge. Eigenvalues and Cholesky of released matrices: after the noise, so only accuracy depends on it",
    "numpy": "PyO3. Arrays of Python programs",
    "parquet": "Apache Arrow. Parquet files, and for those compressed with zstd its C library; rows are clipped after it",
    "postcard": "James Munns. Records of our files, inside frames with a checksum; golden files of each version are tested",
    "prometheus-client": "Prometheus. Metrics, in two registries that cannot be mixed",
    "pulp": "Sarah Quinones. Loops for the processor at hand; both ways give the same bits in the tests",
    "pyo3": "PyO3. The Python module",
    "redb": "Christopher Berner. The server's store: its loss would lose data, never privacy",
    "rustix": "Bytecode Alliance. Calls to the system without unsafe code of ours: no core dumps",
    "serde": "David Tolnay. Reads and writes our formats",
    "serde_json": "David Tolnay. JSON of models and rows; numbers come back bit for bit",
    "sha2": "RustCrypto. Digests of questions and names; under HKDF compared by oracle/noise.py",
    "subtle": "dalek-cryptography. Compares tokens in constant time",
    "thiserror": "David Tolnay. Error types",
    "tokio": "Tokio. The server's tasks",
    "tokio-postgres": "Steven Fackler. The PostgreSQL protocol",
    "tokio-rustls": "rustls. TLS, by the feature `tls`",
    "toml": "toml-rs. Schemas",
    "tower": "Tokio. Layers of the server",
    "tower-http": "Tokio. Limits of requests",
    "tracing": "Tokio. Logs, which hold no values of people",
    "tracing-subscriber": "Tokio. As tracing",
    "twox-hash": "Jake Goulding. XXH3 with a secret: digests of rows in the journal, as private as the journal",
    "zeroize": "RustCrypto. Wipes keys from memory",
}


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    command += ["--filter-platform", PLATFORM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def page():
    found = metadata()
    packages = {one["id"]: one for one in found["packages"]}
    nodes = {one["id"]: one for one in found["resolve"]["nodes"]}

    def needs(name):
        for one in nodes[name]["deps"]:
            if any(kind["kind"] != "dev" for kind in one["dep_kinds"]):
                yield one["pkg"]

    reached, todo = set(), [one for one in packages if packages[one]["name"] in SHIPPED]
    direct = set()
    while todo:
        one = todo.pop()
        if one in reached:
            continue
        reached.add(one)
        for other in needs(one):
            if packages[one]["source"] is None and packages[other]["source"]:
                direct.add(other)
            todo.append(other)
    theirs = sorted(
        (packages[one] for one in reached if packages[one]["source"]),
        key=lambda one: (one["name"], one["version"]),
    )
    named = sorted({packages[one]["name"] for one in direct})
    missing = [name for name in named if name not in WHY]
    if missing:
        sys.exit(f"say in scripts/third_party.py why these are trusted: {', '.join(missing)}")
    unknown = sorted(set(WHY) - set(named))
    if unknown:
        sys.exit(f"these are no dependencies any more: {', '.join(unknown)}")
    lines = [
        "# Third parties",
        "",
        "What the program, the library and the Python module are built from, with all features, on",
        f"{PLATFORM}. `python3 scripts/third_party.py` writes this page, and `make deny` fails if it",
        "differs, if a licence is none of those that `deny.toml` allows, or if a reason is missing.",
        "",
        "All of them come from the public registry, at the versions and digests of `Cargo.lock`. None is",
        "modified. No code of ours is `unsafe`; theirs may be.",
        "",
        "## Crates that our code names, and why each is trusted",
        "",
        "| crate | by whom, and what depends on it |",
        "|---|---|",
        *(f"| {name} | {WHY[name]} |" for name in named),
        "",
        f"## All {len(theirs)} crates and their licences",
        "",
        "| crate | version | licence |",
        "|---|---|---|",
        *(f"| {one['name']} | {one['version']} | {one['license']} |" for one in theirs),
        "",
    ]
    return "\n".join(lines)


def main():
    path = ROOT / "THIRD-PARTY.md"
    now = page()
    if sys.argv[1:] == ["--check"]:
        if path.read_text() != now:
            sys.exit("THIRD-PARTY.md differs: run scripts/third_party.py and commit it")
    else:
        path.write_text(now)


if __name__ == "__main__":
    main()
