# make quickstart   set up and run the main job        make test   set up and run the tests, in minutes
# make lint         set up and check style and types   make prove  run the tests that take long
# make optima       write the table of proven optima    make docs   build the documentation into site/

VENV := .venv
STAMP := $(VENV)/.installed
SUPPORTED := import sys; sys.exit(sys.version_info < (3, 11))
CANDIDATES := python3 python3.11 python3.12 python3.13 python3.14
PYTHON ?= $(firstword $(foreach name,$(CANDIDATES),$(shell $(name) -c '$(SUPPORTED)' 2>/dev/null && echo $(name))))

# Libraries are installed without bytecode; where it may be kept, each is compiled once, not in every process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: quickstart test lint prove optima docs install

quickstart: install
	$(VENV)/bin/dse run quickstart

test: install
	$(VENV)/bin/python -m tests.warm_up
	$(VENV)/bin/python -m pytest --numprocesses auto --maxprocesses 2 --dist worksteal

lint: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

prove: install
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[prove,docs]'
	$(VENV)/bin/python -m tests.warm_up
	$(VENV)/bin/python -m pytest $(shell find tests -name 'prove_*.py')
	$(VENV)/bin/python -m pytest --hypothesis-profile long $(shell grep -rl --include='test_*.py' '^@given' tests)

optima: install
	$(VENV)/bin/python -m experiments.optima

docs: install
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet
	@echo "site/index.html"

install: $(STAMP)

# Compiling what may never be imported would take half of the time, hence --no-compile.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Installing into $(VENV): a few minutes the first time"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[dev,tpe,onnx,cluster,learners,zigzag]'
	@touch $@
