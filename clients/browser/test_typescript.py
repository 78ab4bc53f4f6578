"""The TypeScript client: checked by the compiler, against the engine, and on a server."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients"))
import testing  # noqa: E402


def test_the_client_compiles_and_says_what_the_engine_says():
    source, out = ROOT / "clients/typescript", ROOT / "target/browser/typescript"
    tsc = ROOT / "target/browser/node_modules/.bin/tsc"
    subprocess.run([str(tsc), "-p", str(source), "--outDir", str(out)], check=True)
    (out / "package.json").write_text('{"type": "module"}')
    with testing.Server() as server:
        operator = testing.load_client().Client(server.url, server.tokens["operator"])
        operator.make_dataset("people", 20.0, 1e-5)
        operator.make_model("banner", **testing.DECIDES)
        own = {
            "HUSHSTREAM_CLIENT": str(out / "hushstream.js"),
            "HUSHSTREAM_URL": server.url,
            "HUSHSTREAM_TOKEN": server.tokens["client"],
        }
        test = str(source / "hushstream.test.mjs")
        done = subprocess.run(
            ["node", "--test", "--test-reporter", "spec", test],
            env={**os.environ, **own},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped 0" in done.stdout, done.stdout
