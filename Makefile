# Two commands do all the set-up: `make demo` and `make test`. Both need only Rust, python3 and make.

PYTHON ?= python3
VENV   := target/oracle
PY     := $(VENV)/bin/python
JAX    := target/oracle-jax
# Programs to be measured beside ours; `BENCH=quick` is a short run to try, `BENCH=full` the longest curves.
PEERS  := target/bench-python
TFP    := target/bench-tensorflow
BENCH  ?= default
# The Python package: its environment, and the module that the tests load.
PACKAGE := target/python
TESTED  := target/python-tested
# Spark and other clusters, for their tests.
SPARK   := target/spark
# What tries the dashboard and the TypeScript client.
BROWSER := target/browser
# What `make mutants-diff` compares with.
SINCE  ?= HEAD~1

.PHONY: demo test test-browser test-python test-python-versions test-spark test-spark-once test-postgres postgres test-server bench-server python wheel test-long fuzz fuzz-coverage bench oracle mutants mutants-diff deny book package soak

# People and a year of flights, which are built into the program: what was chosen and why, how well it learned, and what is promised.
demo:
	cargo build --release --locked --bin hushstream
	cargo run --release --locked --quiet --bin hushstream -- demo --folder target/demo

test:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	$(MAKE) postgres
	cargo test --workspace --locked
	$(MAKE) test-python
	$(MAKE) test-spark-once

# The Python package, on a module of the same profile as the other tests, so that little is compiled
# again. Its program is the one that the Rust tests built: the same selection of crates has the same
# features, so nothing is built for it a second time.
test-python: $(PACKAGE)/installed
	cargo test --workspace --locked --quiet --no-run --test plan_sparse
	cd python && ../$(PACKAGE)/bin/maturin build --quiet --locked --profile dev --out ../$(TESTED)/wheel
	$(PACKAGE)/bin/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(TESTED)/site $(TESTED)/wheel/*.whl
	cd python && PYTHONPATH=$(CURDIR)/$(TESTED)/site ../$(PACKAGE)/bin/pytest tests --doctest-modules --pyargs hushstream
	cd $(TESTED) && PYTHONPATH=site $(CURDIR)/$(PACKAGE)/bin/python -m mypy.stubtest hushstream._native

# Spark and Dask with real kills: minutes, after an installation of 850 MB.
test-spark: $(SPARK)/installed
	cd python/tests_spark && PYTHONPATH=$(CURDIR)/$(TESTED)/site ../../$(SPARK)/bin/pytest

# One run on a cluster of processes, with one kill. Where Java or Spark cannot be installed, it says so.
test-spark-once:
	@if $(MAKE) $(SPARK)/installed; then \
		cd python/tests_spark && PYTHONPATH=$(CURDIR)/$(TESTED)/site ../../$(SPARK)/bin/pytest -m short; \
	else \
		echo "***** NOT TESTED: Spark. It needs Java 17 (apt-get install openjdk-17-jre-headless) and pyspark from PyPI. *****"; \
	fi

# The module that test-python has built is tested.
$(SPARK)/installed: python/requirements-spark.txt
	java -version >/dev/null 2>&1 || apt-get install -y --no-install-recommends openjdk-17-jre-headless || sudo -n apt-get install -y --no-install-recommends openjdk-17-jre-headless
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/pip install --quiet --disable-pip-version-check -r python/requirements-spark.txt
	touch $@

# Two holders on one PostgreSQL, and two servers, at full length: 50 takeovers of each, 20 and 10
# crashes of the database under load. Among all tests there are a few of each.
test-postgres: postgres
	HUSHSTREAM_POSTGRES=required cargo test --release --locked -p hushstream-postgres -p hushstream-server \
	  --features hushstream-postgres/long,hushstream-server/long --test fencing --test server -- logs:: turns:: shared::

# Installs PostgreSQL where it is missing and may be. Its tests start one of their own, in a
# temporary folder.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  apt-get install -y --no-install-recommends postgresql || \
	  sudo -n apt-get install -y --no-install-recommends postgresql || \
	  echo "***** NOT TESTED: PostgreSQL. It is not installed (apt-get install postgresql). *****"

# The dashboard in Debian's Chromium, and the TypeScript client; needs node and npm. Chromium is
# installed where it is missing and may be. Pictures of all pages: target/browser/pages.
test-browser: $(BROWSER)/installed
	command -v chromium || apt-get install -y --no-install-recommends chromium fonts-dejavu-core || \
	  { echo "NOT TESTED: there is no chromium, and it cannot be installed here" >&2; exit 1; }
	cargo build --locked --bin hushstream
	$(BROWSER)/bin/pytest -q -p no:cacheprovider clients/browser

$(BROWSER)/installed: clients/browser/requirements.txt
	$(PYTHON) -m venv $(BROWSER)
	$(BROWSER)/bin/pip install --quiet --disable-pip-version-check -r clients/browser/requirements.txt
	npm install --silent --no-audit --no-fund --prefix $(BROWSER) typescript@5.9.3 || \
	  { echo "NOT TESTED: npm cannot install the TypeScript compiler here" >&2; exit 1; }
	touch $@

# The same tests on the oldest versions that the package works with.
test-python-versions: test-python
	$(PYTHON) -m venv target/python-oldest
	target/python-oldest/bin/pip install --quiet --disable-pip-version-check -r python/requirements-oldest.txt
	cd python && PYTHONPATH=$(CURDIR)/$(TESTED)/site ../target/python-oldest/bin/pytest tests

# `hushstream serve` from outside, at full length: 200 kills, and the OpenAPI document by
# schemathesis with every role.
SERVER := target/server-python
test-server: $(SERVER)/installed
	cargo test --locked -p hushstream-cli --features long --test serve
	cargo build --locked --bin hushstream
	$(SERVER)/bin/pytest python/tests_server

$(SERVER)/installed: python/tests_server/requirements.txt
	$(PYTHON) -m venv $(SERVER)
	$(SERVER)/bin/pip install --quiet --disable-pip-version-check -r python/tests_server/requirements.txt
	touch $@

# Its load on loopback, with wrk: prints figures beside the load of the machine.
bench-server:
	cargo build --release --locked --bin hushstream
	$(PYTHON) benches/serve/load.py

# An environment with the package and everything that it works with: target/python/bin/python.
python: wheel
	$(PACKAGE)/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall target/wheels/*.whl

# The package as a file: one for every Python since 3.10.
wheel: $(PACKAGE)/installed
	rm -rf target/wheels
	cd python && ../$(PACKAGE)/bin/maturin build --quiet --locked --release --out ../target/wheels

$(PACKAGE)/installed: python/requirements.txt
	$(PYTHON) -m venv $(PACKAGE)
	$(PACKAGE)/bin/pip install --quiet --disable-pip-version-check -r python/requirements.txt
	touch $@

# Damaged files for the readers, from a seed that has not been tried.
fuzz:
	cargo run --locked --quiet --release -p hushstream-fuzz -- --seconds 1800 --seed $$(date +%s)

# libFuzzer, led by coverage: HOURS of core time for every target, or for those of TARGET. It takes
# turns among them, goes on with the corpora under target/fuzz, and needs a compiler of C++.
# Afterwards, `python3 scripts/fuzz_coverage.py --keep` minimises the corpora and keeps them.
HOURS  ?= 1
TARGET ?=
fuzz-coverage:
	$(PYTHON) scripts/fuzz_coverage.py --hours $(HOURS) $(TARGET)

# Everything of `make test`, regret at full length, the error codes of what must not compile, the cipher's ways for other processors, cross-checks against other people's implementations, and whether tests notice changes of the code that privacy rests on.
test-long: test oracle deny test-python-versions test-spark test-postgres test-browser test-server
	cargo test --release --locked -p hushstream-arena --features long
	cargo test --release --locked -p hushstream-cli --features long
	cargo test --release --locked -p hushstream-server --features long,tls
	cargo test --locked -p hushstream-read --features parquet
	cargo test --locked -p hushstream --features arrow
	cargo test --release --locked -p hushstream-audit --features long
	RUSTC_BOOTSTRAP=1 cargo test --locked --quiet --doc -p hushstream-mechanism --target-dir target/error-codes
	RUSTFLAGS='--cfg aes_backend="soft"' cargo test --locked --quiet -p hushstream-noise --target-dir target/ciphers/soft
	$(PY) oracle/accounting.py check
	$(PY) oracle/noise.py check
	cargo build --release --locked --bin hushstream
	$(PY) oracle/metrics.py check
	$(JAX)/bin/python oracle/blt.py check
	$(JAX)/bin/python oracle/dense.py check
	$(JAX)/bin/python oracle/auditors.py check
	cargo run --release --locked --quiet -p hushstream-noise --example draws | $(JAX)/bin/python oracle/samplers.py check -
	$(MAKE) mutants

# Sensitivities, scales, addresses of noise, marks and charges, changed one at a time: a test of
# the same crate must fail each time. One build holds all changes. MUTANT_HOURS limits the time.
mutants:
	cargo mutants --version || cargo install --locked cargo-mutants@27.1.0
	$(PYTHON) scripts/mutants.py

# The same for the lines that have changed since a commit.
mutants-diff:
	cargo mutants --version || cargo install --locked cargo-mutants@27.1.0
	mkdir -p target
	git diff $(SINCE) > target/mutants.diff
	$(PYTHON) scripts/mutants.py --in-diff target/mutants.diff

# Licences, sources and bans of the dependencies of all features: deny.toml. THIRD-PARTY.md lists them.
deny:
	cargo deny --version || cargo install --locked cargo-deny@0.20.2
	cargo fetch --locked
	cargo deny --offline check bans licenses sources
	$(PYTHON) scripts/third_party.py --check

# docs/ as a site that needs no network: target/book/index.html. mdBook is installed beside it first.
MDBOOK := target/mdbook
book: $(MDBOOK)/bin/mdbook
	PATH="$(CURDIR)/$(MDBOOK)/bin:$$PATH" mdbook build

$(MDBOOK)/bin/mdbook:
	cargo install --quiet --locked --root $(MDBOOK) --no-default-features --features search mdbook@0.5.4

# Kills and faults at random, and what is left of runs after them: docs/reliability.md. KILLS, FAULTS and SEED say how many.
KILLS  ?= 1000
FAULTS ?= 300
SEED   ?= 1
soak:
	cargo build --locked --bin hushstream
	nice -n 19 $(PYTHON) scripts/soak.py --kills $(KILLS) --faults $(FAULTS) --serve $$(($(KILLS) / 10)) --seed $(SEED)

# Archives of every crate that ships, each compiled from its archive alone: target/package.
package:
	cargo package --workspace --locked --exclude hushstream-benches --exclude hushstream-fuzz --exclude hushstream-python

# Ours and other people's programs on the same files, in turn, then Python, the server and Spark; writes
# BENCHMARKS.md. Then private learners on tables: how well each predicts at one budget; writes
# target/bench/accuracy/table.md. What is not installed and cannot be (wrk, Spark) is named in the page.
bench: $(PEERS)/installed $(JAX)/installed $(TFP)/tried python
	command -v wrk >/dev/null || apt-get install -y --no-install-recommends wrk || true
	$(MAKE) $(SPARK)/installed || true
	cargo build --release --locked -p hushstream-cli -p hushstream-benches
	$(PEERS)/bin/python benches/compare $(BENCH)
	$(PEERS)/bin/python benches/accuracy $(if $(filter quick,$(BENCH)),quick,default)

oracle: $(VENV)/installed $(JAX)/installed

$(VENV)/installed: oracle/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r oracle/requirements.txt
	touch $@

# Apart, because jax is large and pins its own versions.
$(JAX)/installed: oracle/requirements-jax.txt
	$(PYTHON) -m venv $(JAX)
	$(JAX)/bin/python -m pip install --quiet --disable-pip-version-check -r oracle/requirements-jax.txt
	touch $@

$(PEERS)/installed: benches/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r benches/requirements.txt
	touch $@

# Old, large, and not for every Python: where it does not install, it is not measured.
$(TFP)/tried: benches/requirements-tensorflow.txt
	$(PYTHON) -m venv $(TFP)
	$(TFP)/bin/python -m pip install --quiet --disable-pip-version-check -r benches/requirements-tensorflow.txt || echo "tensorflow-privacy does not install here: not measured"
	touch $@
