# Everything runs from a private environment in .venv, made from requirements.lock on first use.
# Nothing but make and Python 3.11 or newer has to be there before.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto

.PHONY: demo test coverage check bench soak lock clean help
.DEFAULT_GOAL := help

help:  ## what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(VENV)/.locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kantor needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo "Python's venv module is missing: install your system's python3-venv package." >&2; exit 1; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(READY): $(VENV)/.locked pyproject.toml
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)  ## a whole market of some fifty processes, from enrolment to settlement, with a report in ./demo
	@$(BIN)/kantor demo --out demo

test: $(READY)  ## every test, in parallel
	@$(BIN)/pytest -n $(WORKERS)

coverage: $(READY)  ## the same, measuring which lines they reach: half as long again
	@$(BIN)/pytest -n $(WORKERS) --cov --cov-report=term:skip-covered

check: $(READY)  ## before every commit: format, lint, types, fast tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pytest -q -n $(WORKERS) -m "not slow" --hypothesis-profile=quick

bench: $(READY)  ## each claim about speed, as a ratio to what a user would use instead
	@$(BIN)/python -m benchmarks

soak: $(READY)  ## every law of clearing and of noise at its full count (an hour or two; started again, it goes on)
	@PYTHONPATH=tests:. $(BIN)/python -m laws.soak
	@$(BIN)/python -m benchmarks.safe_noise 10000000

lock: $(READY)  ## pin the newest versions that pyproject.toml allows (wants uv on the PATH)
	uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-package kantor --no-annotate --no-header --no-emit-index-url -o requirements.lock

clean:  ## remove all that was made, the environment included
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
