# Two commands for a newcomer: `make up` and `make test`. Each installs what it needs into .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PORT   ?= 8000
DATA   ?= var
BIND   ?= 127.0.0.1
ENGINE ?= simulated
TRAFFIC ?= yes

# What is installed is named by a stamp file; it is made again when its lock changes.
ENV_server    := $(VENV)/.installed-server
ENV_llamacpp  := $(VENV)/.installed-llamacpp
ENV_dev       := $(VENV)/.installed-dev

# Processes start by the dozen here; none shall compile again what another one did. A start is
# awaited, so what it runs is compiled as it is installed; tests need a quarter of what they have.
export PYTHONDONTWRITEBYTECODE :=
COMPILE_server   := --compile-bytecode
COMPILE_llamacpp := --compile-bytecode

ifeq ($(ENGINE),llamacpp)
UP_ENV := $(ENV_llamacpp)
else
UP_ENV := $(ENV_server)
endif

.PHONY: help up test check lint types contracts format lock schema clean

help:
	@echo "make up      install, start everything on this machine, open on a running load test"
	@echo "             PORT=$(PORT) DATA=$(DATA) BIND=$(BIND) ENGINE=simulated|llamacpp TRAFFIC=yes|no"
	@echo "make test    install what tests need, then lint, types, contracts and all tests"
	@echo "make check   lint, types and contracts only"
	@echo "make format  let the formatter have its way"
	@echo "make lock    resolve the dependencies anew into requirements/"

up: $(UP_ENV)
	@exec $(BIN)/python -m headway up --port $(PORT) --bind $(BIND) --data-dir $(DATA) --engine $(ENGINE) $(if $(filter no,$(TRAFFIC)),--no-traffic)

# Tests that wait, and beside them all that asks no clock: tests/passes.py says how.
test: $(ENV_dev)
	@$(BIN)/python -m tests.passes $(PYTEST_ARGS)

check: lint types contracts

lint: $(ENV_dev)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(ENV_dev)
	$(BIN)/mypy

contracts: $(ENV_dev)
	$(BIN)/lint-imports

format: $(ENV_dev)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# uv resolves and installs about ten times faster than pip; pip alone brings it.
$(BIN)/uv:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Headway needs Python 3.11 or newer; name one with PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==0.13.9"

# Exactly what the lock names, hash by hash.
$(VENV)/.installed-%: requirements/%.txt $(BIN)/uv
	$(BIN)/uv pip install --quiet $(COMPILE_$*) --python $(BIN)/python --require-hashes -r $<
	@touch $@

lock: $(BIN)/uv
	for extra in "dev --extra server --extra llamacpp --extra dev" "server --extra server" \
	             "llamacpp --extra server --extra llamacpp"; do \
	  set -- $$extra; name=$$1; shift; \
	  $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 $$@ \
	    --no-emit-index-url --generate-hashes --no-annotate --no-header \
	    $$([ $$name = dev ] || echo "-c requirements/dev.txt") -o requirements/$$name.txt || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
