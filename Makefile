# Needs make and Python 3.11 or newer, nothing else. The environment is .venv/; it is made the first time and reused.

VENV  := .venv
BIN   := $(VENV)/bin
# Ray is large, and brings packages that others do not need; examples on it need torch, too.
CLUSTER := .venv-cluster
# The name holds this folder's path: a checkout that was moved or copied makes its own environment again.
READY := .ready-$(shell pwd | cksum | cut -d ' ' -f 1)
STAMP := $(VENV)/$(READY)
# The demo needs torch and image libraries, none of the developers' tools; where those are, it takes them.
DEMO := $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)

# The first suitable Python; looked for only when the environment is made. `make setup PYTHON=...` overrides it.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && exit; done; echo python3)

# The torch that tests and demo run with, before anything that would bring another. The library takes any.
TORCH ?= torch==2.13.0

# Tests side by side: most of them wait for processes. Compiled modules are kept, as hundreds of interpreters are started.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n 4 --dist worksteal

# How long `make soak` goes on.
MINUTES ?= 5

# Further arguments, for example: make test ARGS="-k ledger -x"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-frameworks test-browser test-cluster test-cluster-short soak reproduce check bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Make the environment in .venv/ (every other command does this by itself)

demo: $(DEMO)/$(READY) ## Train in four processes, with torch's loader and with joader: about a minute
	@$(DEMO)/bin/joader demo $(ARGS)

test: $(STAMP) ## Run the tests, without the slow ones
	@$(PYTEST) -m "not slow and not frameworks and not browser" $(ARGS)

test-all: $(STAMP) ## Run all tests
	@HYPOTHESIS_PROFILE=default JOADER_TESTS_FRESH=1 $(PYTEST) -m "not frameworks and not browser" $(ARGS)

test-frameworks: $(STAMP) ## Install Lightning, Accelerate, Jupyter and others, and run the loader below them
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH) -e '.[dev,frameworks]'
	@$(BIN)/pytest -m frameworks $(ARGS)

test-browser: $(STAMP) ## Look at the dashboard with a real browser (apt install chromium); skipped without one
	@$(BIN)/pytest -m browser tests/browser $(ARGS)

test-cluster: $(CLUSTER)/.with-torch ## Several daemons and machines, with Ray, in an environment of its own
	@$(CLUSTER)/bin/pytest tests/cluster tests/sampling/test_clocks.py tests/examples/test_cluster_examples.py $(ARGS)

test-cluster-short: $(STAMP) ## Two to three minutes of it; without Ray where that cannot be installed
	@bin=$(CLUSTER)/bin; \
	$(MAKE) --quiet $(CLUSTER)/.ready >/dev/null 2>&1 || { bin=$(BIN); \
		echo "Ray cannot be installed here: the test on it is skipped, the others run without it"; }; \
	$$bin/pytest -n 2 --dist worksteal -m short tests/cluster $(ARGS)

example-%: $(CLUSTER)/.with-torch
	@$(CLUSTER)/bin/python examples/$*.py $(ARGS)

soak: $(STAMP) ## Let random jobs come, die and resume for MINUTES=5, and see that no promise breaks
	@PYTHONPATH=. $(BIN)/python -m tests.soak.soak --minutes $(MINUTES) $(ARGS)

reproduce: $(STAMP) ## Rerun every figure of the papers in its quick form: two to three minutes
	@$(BIN)/joader reproduce --all --quick $(ARGS)

check: $(STAMP) ## Lint, format, docstring coverage, strict types, import rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(STAMP) ## Run every benchmarks/bench_*.py
	@failed=; \
	for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
		echo "== $$script"; \
		$(BIN)/python $$script $(ARGS) || failed="$$failed $$script"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

clean: ## Remove the environment, caches and build results
	rm -rf $(VENV) .venv-demo $(CLUSTER) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(CLUSTER)/.ready: pyproject.toml
	@$(PYTHON) -m venv $(CLUSTER) || $(PYTHON) -m virtualenv $(CLUSTER)
	@$(CLUSTER)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[ray]' 'pytest>=8.2' \
		'pytest-xdist>=3.6' 'hypothesis>=6.100' 'scipy>=1.12'
	@touch $@

$(CLUSTER)/.with-torch: $(CLUSTER)/.ready
	@$(CLUSTER)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH) 'ray[train,tune]' -e '.[images]'
	@touch $@

# An empty environment in the folder of the target; what is installed there, and the stamp, follow.
define EMPTY
	@command -v $(PYTHON) >/dev/null || { \
		echo "joader needs Python 3.11 or newer; '$(PYTHON)' was not found." >&2; \
		echo "Install it (Debian, Ubuntu: apt install python3 python3-venv) or name it: make setup PYTHON=/path/to/python3.11" >&2; \
		exit 1; }
	@$(PYTHON) -c '$(NEW_ENOUGH)' || { \
		echo "joader needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Install a newer one or name it: make setup PYTHON=/path/to/python3.11" >&2; \
		exit 1; }
	@if ls $(@D)/.ready-* >/dev/null 2>&1 && [ ! -e $@ ]; then rm -rf $(@D); fi
	@if ! $(@D)/bin/python -m pip --version >/dev/null 2>&1; then \
		echo "Making the environment in $(@D)/ (once)"; \
		if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
			$(PYTHON) -m venv --clear $(@D); \
		elif $(PYTHON) -m virtualenv --version >/dev/null 2>&1; then \
			$(PYTHON) -m virtualenv --clear $(@D); \
		else \
			echo "'$(PYTHON)' cannot make virtual environments: its venv module is a package of its own." >&2; \
			echo "Debian, Ubuntu: apt install $$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])') (or python3-venv); elsewhere: pip install --user virtualenv" >&2; \
			exit 1; \
		fi; \
	fi
endef

$(STAMP): pyproject.toml
	$(EMPTY)
	@echo "Installing $(TORCH) and the developers' tools (a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

.venv-demo/$(READY): pyproject.toml
	$(EMPTY)
	@echo "Installing $(TORCH), the largest part"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	@echo "Installing joader and what reads images"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[images]'
	@touch $@
