# Two commands do everything on a fresh machine: `make demo` and `make test`. Before each commit: `make quick`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
PYTHONS := src tests benchmarks examples studies docs
SCALE  ?= 1
FAST   := "not slow and not nightly"
# One worker more than cores: some tests wait for processes and browsers.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# What no version of a dependency changes, or what needs more of them than the oldest environment has.
VERSIONLESS := --ignore-glob='*/study/*' --ignore-glob='*/sklearn/*' --ignore-glob='*/support/*' \
  --ignore-glob='*/laws/learners/*' --ignore-glob='*/laws/lab/*' --ignore-glob='*/laws/worlds/*' \
  --ignore-glob='*/laws/lattice/test_certificate.py' \
  --ignore-glob='*/unit/learners/test_*plan.py' --ignore-glob='*/test_bills.py' --ignore-glob='*/test_complexity.py'

# Tests start Python hundreds of times: even where it is told to keep no bytecode, it is kept here. (Empty means: not told.)
export PYTHONDONTWRITEBYTECODE =

.PHONY: help install demo quick test nightly test-slow test-faults test-oldest coverage lint format bench bench-all docs dist clean

help:          ## show this help
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

install: $(VENV)/.installed   ## create .venv with everything the tests need

NEW_VENV = $(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "replical needs Python 3.11 or newer"' \
  && $(PYTHON) -m venv $(VENV)
INSTALL  = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

# What the demo, the commands it ends with and the lines of the README need; `make install` adds the rest, in either order.
$(VENV)/.light: pyproject.toml constraints.txt
	@echo "Setting up $(VENV): about half a minute, 530 MB."
	@$(NEW_VENV)
	@$(INSTALL) '.[lab,sklearn]'
	@touch $@

$(VENV)/.installed: pyproject.toml constraints.txt
	$(NEW_VENV)
	$(INSTALL) '.[test,coverage,lint,plot,lab,postgres,sklearn,study,frames,private,sign,models,fast]'
	touch $(VENV)/.light $@

demo: $(VENV)/.light  ## three labs, one published text, one model: proven
	@$(BIN)/replical demo

# Compiled once, so that no two tests compile the same kernel at the same time.
$(VENV)/.compiled: $(VENV)/.installed $(wildcard src/replical/core/kernels/*.py)
	$(BIN)/python benchmarks/kernels.py --quick > /dev/null
	$(BIN)/python benchmarks/pairs.py --quick > /dev/null
	touch $@

quick: lint $(VENV)/.compiled  ## lint, units and golden values: a minute, before each commit
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m $(FAST) tests/unit tests/golden

test: lint test-oldest $(VENV)/.compiled  ## lint and the fast suite: what CI runs
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m $(FAST)

nightly: lint test-oldest test-slow test-faults  ## everything: the slow suite, every fault, the form of docs and pages

test-slow: install  ## the whole suite, slow and nightly tests too, with more examples of every law
	$(BIN)/python -m pytest -n auto --hypothesis-profile=many

test-faults: install  ## kills, full disks, hostile input, as many as SCALE=1 says; one table, and build/faults.json
	REPLICAL_FAULTS=$(SCALE) REPLICAL_FAULTS_OUT=build/faults.json \
	  $(BIN)/python -m pytest -n auto --dist worksteal tests/faults/suite

$(OLDEST)/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[test,lab,sign]'
	touch $@

test-oldest: install $(OLDEST)/.installed  ## units, laws and golden values on the oldest supported versions
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal -q -m $(FAST) --hypothesis-profile=few $(VERSIONLESS) \
	  tests/unit tests/laws tests/golden

coverage: install  ## the fast suite (or TESTS=..), measured in every process it starts; lines not run, htmlcov/
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -n auto --dist worksteal -m $(FAST) $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

lint: install  ## style, types, import contract
	$(BIN)/ruff check $(PYTHONS)
	$(BIN)/ruff format --check $(PYTHONS)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## bring everything into the shape that lint asks for
	$(BIN)/ruff check --fix $(PYTHONS)
	$(BIN)/ruff format $(PYTHONS)

bench: install  ## how fast, beside goals, limits, the last record and other libraries; six quiet minutes
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[peers]'
	$(BIN)/python benchmarks/speed.py

bench-all: bench  ## every other benchmark too, ratios measured side by side
	@for name in core elimination safety confirm resume page cost_of_replicability; do \
	  echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

$(VENV)/.documented: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

docs: $(VENV)/.documented  ## the documentation as a site, in build/site; any warning is an error
	$(BIN)/python docs/notebooks/run.py
	$(BIN)/python -m sphinx --quiet --write-all --fail-on-warning --keep-going -d build/doctrees docs build/site
	@echo "open build/site/index.html"

$(VENV)/.packaging: $(VENV)/.light
	@$(INSTALL) '.[dist]'
	@touch $@

dist: $(VENV)/.packaging  ## wheel and source archive in dist/, each tried in an empty environment; some minutes
	rm -rf dist
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --outdir dist .
	$(BIN)/python tests/support/dist.py dist build

clean:         ## remove environments and caches
	rm -rf $(VENV) $(OLDEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* htmlcov build dist
