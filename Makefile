# Every target first creates .venv with the versions of constraints.txt, once.
#   make demo          play with a small language model, train a tiny one; table and HTML report; FULL=1 takes longer
#   make test          the fast tests                    make test-all      all tests
#   make test-thorough tests that take seconds each; `make ci` runs them too
#   make ci            the checks of .ci/run             make docs          the documentation, into site/
#   make lint, make types, make layers                   ruff, pyright, import contracts
#   make package       sdist and wheel, into dist/: metadata, contents, and the wheel tried in a bare environment
#   make test-core     tests that need no extra, on another Python (CORE_PYTHON=python3.13)
#   make test-hosts    adapters whose hosts need other versions than constraints.txt, in their own environments
#   make test-engines  backends with real inference servers: vLLM on the CPU, llama.cpp
#   make clean         remove .venv and everything built, but no run folders
# PYTHON=/path/to/python selects the interpreter (3.11 or newer), JOBS the number of test processes.

export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Some images forbid byte code; without it every process compiles and rewrites everything again.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled then; compiling all of torch at once would be half of the set-up.
INSTALL := python -m pip install --no-compile -c constraints.txt
PYTHON ?= python3 python3.13 python3.12 python3.11
JOBS ?= 2

CORE := .venv-core
CORE_PYTHON ?= python3.13
CORE_TESTS := $(addprefix tests/,_util core runs/store envs/test_golden.py runs/test_rollout.py runs/test_rollout_failures.py runs/test_run.py evaluation/test_evaluate.py)

# verifiers, OpenEnv, MCP and GEM with what they agree on (constraints-hosts.txt). GEM wants Python 3.12.0 at most; a dependency
# of its and of Reasoning Gym is compiled.
HOSTS := .venv-hosts
HOST_EXTRAS := chess,gymnasium,mcp,openenv,skyrl-gym,test,textarena,track,verifiers
HOST_TESTS := $(addprefix tests/interop/,inward outward/test_mcp.py outward/test_openenv.py outward/test_verifiers.py) tests/evaluation/test_trackers.py

# verl and SkyRL pin older versions, and what calls our adapters runs with ours: a folder of packages without their dependencies.
VERL := .venv-verl

# vLLM wants a torch of its own, and is a server: the tests run in $(VENV), and start what is here.
ENGINES := .venv-engines
ENGINES_PYTHON ?= $(BIN)/python

.PHONY: demo test test-thorough test-all test-core test-hosts test-engines hosts verl engines ci lint types layers docs package install dev clean
.DEFAULT_GOAL := demo

demo: announce-demo install
	@$(BIN)/python recipes/demo.py $(if $(FULL),--full)

.PHONY: announce-demo
announce-demo:
	@echo "sonde demo: installs into $(VENV) (once), plays with a small language model, trains a tiny one, writes runs/demo/report.html"

test: dev
	$(BIN)/python -m pytest -m "not slow and not thorough" -n $(JOBS) --dist worksteal

# Only the files that hold some are read.
test-thorough: dev
	$(BIN)/python -m pytest -m "thorough and not slow" -n $(JOBS) --dist worksteal $$(grep -rl --include='*.py' 'mark\.thorough' tests)

test-all: dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-core: $(CORE)/installed
	$(CORE)/bin/python -m pytest -m "not slow and not thorough" -n $(JOBS) --dist worksteal $(CORE_TESTS)

test-hosts: hosts verl
	$(HOSTS)/bin/python -m pytest -m "not slow" -n $(JOBS) --dist worksteal $(HOST_TESTS)
	SONDE_TEST_WHEELS=$(abspath $(VERL)) $(BIN)/python -m pytest -m "not slow" $(addprefix tests/interop/outward/,test_verl.py test_skyrl.py)

# Each file starts servers of its own.
test-engines: dev engines
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests/engines

ci:
	.ci/run

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/pyright --pythonpath $(BIN)/python

layers: dev
	$(BIN)/lint-imports

docs: dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# What a package index would get: the wheel is built from the sdist, and tried where there is nothing but it.
package: dev
	rm -rf dist build/bare
	PIP_CONSTRAINT=$(abspath constraints.txt) $(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/package/contents.py dist/*.whl
	$(BIN)/python -m venv build/bare
	build/bare/bin/$(INSTALL) --quiet dist/*.whl
	cd build/bare && bin/python -I ../../tests/package/smoke.py

install: $(VENV)/installed
dev: $(VENV)/installed-dev
hosts: $(HOSTS)/installed
verl: $(VERL)/installed
engines: $(ENGINES)/installed

clean:
	rm -rf $(VENV) $(CORE) $(HOSTS) $(VERL) $(ENGINES) build dist site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	@start=$$(date +%s); $(BIN)/$(INSTALL) --quiet -e '.[train]' && touch $@ && echo "set-up: $$(( $$(date +%s) - start )) s"

$(VENV)/installed-dev: $(BIN)/python pyproject.toml constraints.txt
	@start=$$(date +%s); $(BIN)/$(INSTALL) --quiet -e '.[train,dev]' && touch $(VENV)/installed $@ && echo "set-up for development: $$(( $$(date +%s) - start )) s"

$(CORE)/installed: pyproject.toml constraints.txt
	rm -rf $(CORE); $(CORE_PYTHON) -m venv $(CORE)
	$(CORE)/bin/$(INSTALL) --quiet -e '.[test]' && touch $@

$(HOSTS)/installed: $(BIN)/python pyproject.toml constraints-hosts.txt
	@start=$$(date +%s); rm -rf $(HOSTS); $(BIN)/python -m venv $(HOSTS); extras=$(HOST_EXTRAS); \
	if command -v cc >/dev/null && $(HOSTS)/bin/python -c 'import sys; sys.exit(sys.version_info > (3, 12, 1))'; then \
	    extras=$$extras,gem,reasoning-gym; \
	else echo "GEM and Reasoning Gym are left out: they want a C compiler and Python 3.12.0 at most"; fi; \
	$(HOSTS)/bin/python -m pip install --quiet --no-compile -c constraints-hosts.txt -e ".[$$extras]" && \
	    touch $@ && echo "set-up with other hosts: $$(( $$(date +%s) - start )) s"

$(VERL)/installed: $(VENV)/installed-dev constraints-verl.txt
	@rm -rf $(VERL); $(BIN)/python -m pip install --quiet --no-compile --no-deps --target $(VERL) -r constraints-verl.txt && touch $@

$(ENGINES)/installed: $(BIN)/python constraints-engines.txt tests/engines/install.sh
	@start=$$(date +%s); tests/engines/install.sh $(ENGINES) $(ENGINES_PYTHON) constraints-engines.txt && \
	    touch $@ && echo "set-up with engines: $$(( $$(date +%s) - start )) s"

# Missing, or dangling since the interpreter it pointed to was removed: either way what is left of the old one goes first.
$(BIN)/python:
	@for candidate in $(PYTHON); do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$${python:-}" ]; then \
	    echo "sonde needs Python 3.11 or newer; tried: $(PYTHON). Name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "$$python cannot make virtual environments; on Debian or Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi; \
	echo "making $(VENV) with $$("$$python" --version)"; \
	rm -rf $(VENV); "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
