# The two commands of the README are `make run` and `make test`.
# Every step is a small script that says what to do when it cannot go on.

VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.isaprof-installed
DEV_STAMP := $(VENV)/.isaprof-dev-installed
JOBS ?= 2
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal

.PHONY: run test test-slow test-all check llvm chromium clean help

run: $(RUN_STAMP) llvm ## set everything up, then profile a kernel of samples/ on the simulator
	@scripts/run-sample.sh

test: $(DEV_STAMP) llvm chromium ## set everything up, then the test suite without its slow part
	@$(PYTEST) -m "not slow"

test-slow: $(DEV_STAMP) llvm chromium ## the slow part of the test suite
	@$(PYTEST) -m slow

check: $(DEV_STAMP) ## style, types and import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

test-all: check test test-slow ## everything: style, types, import contracts and the whole test suite

$(RUN_STAMP): pyproject.toml scripts/install.sh
	@scripts/install.sh

$(DEV_STAMP): pyproject.toml scripts/install.sh | $(RUN_STAMP)
	@scripts/install.sh dev

llvm: $(RUN_STAMP) ## LLVM's AMDGPU tools, where none are usable
	@scripts/install-llvm.sh

chromium: ## the browser that the report's tests use, where there is none
	@scripts/install-chromium.sh

clean: ## remove what the targets above made (the virtual environment stays)
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*##/\t/' | expand -t 14
