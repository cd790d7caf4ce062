# make lab    JupyterLab on the quickstart     make demo   the same notebook without a browser
# make test   style, types, docstrings, tests  make bench  the figures of the README

PYTHON ?= python3
LAB_ARGS ?=
# In a container one is often root, which JupyterLab asks to be told.
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: lab demo test lint docs bench clean

$(VENV)/.lab: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[lab]'
	touch $@

$(VENV)/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[lab,test]'
	touch $@

lab: $(VENV)/.lab
	$(BIN)/jupyter lab $(ROOT) $(LAB_ARGS) notebooks/quickstart.ipynb

demo: $(VENV)/.lab
	$(BIN)/python notebooks/demo.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/interrogate --quiet jupyter_webresearch

test: lint
	$(BIN)/python -m pytest

docs: $(VENV)/.test
	$(BIN)/python docs/generate.py

bench: $(VENV)/.test
	$(BIN)/python benchmarks/fetch.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
