# Pitwall's doors: `make run` for users, `make check` and `make test` for us.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run check format test soak clean

$(VENV)/.run: requirements.txt requirements-demo.txt constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt -r requirements-demo.txt
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements-dev.txt
	touch $@

run: $(VENV)/.run
	$(BIN)/python -m web.serve

format: $(VENV)/.dev
	$(BIN)/ruff check -q --fix .
	$(BIN)/ruff format -q .

check: $(VENV)/.dev
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy -p engines -p storage -p collectors -p launcher -p workloads -p analysis -p demo -p web -m domain -m settings
	$(BIN)/pytest -m "not engine and not browser and not slow"
