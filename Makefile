# Two commands do all the set-up: `make demo` and `make test`. Both need only Rust, python3 and make.

PYTHON ?= python3
VENV   := target/oracle
PY     := $(VENV)/bin/python

.PHONY: demo test test-long bench oracle

demo:
	cargo run --release --locked --quiet --bin hushstream -- plan --releases 1048575 --dim 54 --epsilon 1 --delta 1e-6 --adjacency replace-one

test:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	cargo test --workspace --locked

# Everything of `make test`, and the cross-checks against other people's implementations.
test-long: test oracle
	$(PY) oracle/accounting.py check
	$(PY) oracle/noise.py check

bench: oracle
	cargo run --release --locked --quiet -p hushstream-benches -- $(PY)

oracle: $(VENV)/installed

$(VENV)/installed: oracle/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r oracle/requirements.txt
	touch $@
