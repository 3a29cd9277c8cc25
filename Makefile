# Each target sets up all it needs in a virtual environment (.venv) from nothing; what is there is kept.
# PYTHON chooses the interpreter (3.10 to 3.13), VENV the folder, PIP_ARGS are further options of pip,
# PYTEST_ARGS of pytest:
#     make test PYTHON=python3.12 PYTEST_ARGS="-k terminology"
# EVAL_DIR is a folder of evaluation sets that train and all measure the encoder on, beside the held-out names.

PYTHON ?= python3
VENV ?= .venv
PIP_ARGS ?=
PYTEST_ARGS ?=
BENCH_ARGS ?=
EVAL_DIR ?= assets/eval

BIN := $(VENV)/bin
# editable, so that an edit of the source needs no new installation
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)

.DEFAULT_GOAL := help
.PHONY: help demo train all test test-slow lint bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 18

demo: $(VENV)/installed ## fetch HPO and ICD-10-CM, build both KBs, evaluate, annotate the sample notes
	$(BIN)/python -m spacy project run demo

train: $(VENV)/installed-train ## train an encoder on HPO and measure it (about 20 minutes on two cores)
	$(BIN)/python -m spacy project run train . --vars.eval_dir $(EVAL_DIR)

all: $(VENV)/installed-train ## train an encoder on five terminologies, measure it, write the report (about an hour)
	$(BIN)/python -m spacy project run all . --vars.eval_dir $(EVAL_DIR)

test: $(VENV)/installed-dev ## the tests of every run (a few minutes, no network)
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-slow: $(VENV)/installed-dev ## the long ones: packaging, other virtual environments, kills, fetched data
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

lint: $(VENV)/installed-dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy spacy_termlink

bench: demo ## throughput beside scispaCy's candidate generator (installs it in an environment of its own)
	$(BIN)/python benchmarks/link.py kb/hpo $(BENCH_ARGS)

clean: ## remove what the targets made: environment, fetched files, terminologies, encoders, KBs, output
	rm -rf $(VENV) assets/fetched terminologies annotated mined encoders rerankers kb output project.lock build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "spacy-termlink needs Python 3.10 to 3.13: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: setup.cfg pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/installed-train: setup.cfg pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e ".[train,report]"
	@touch $@

$(VENV)/installed-dev: setup.cfg pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e ".[dev]"
	@touch $@ $(VENV)/installed
