# ECHO. `make run` starts Open WebUI with ECHO on http://localhost:3000; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
PORT ?= 3000
DATA ?= .run/data
# More arguments: make run ARGS="--host 0.0.0.0", make test ARGS="tests/unit -x".
ARGS ?=
# Byte code makes every start but the first several seconds faster.
unexport PYTHONDONTWRITEBYTECODE
# A checkout elsewhere on the machine must not lend its modules.
unexport PYTHONPATH

.PHONY: help run demo check-port setup setup-run test test-deep test-docker pictures bench lint format lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

run: check-port setup-run ## Open WebUI with ECHO on http://localhost:3000, or PORT=3001 (Google with GEMINI_API_KEY, else the simulator)
	@exec $(BIN)/echoctl up --port $(PORT) --data $(DATA) $(ARGS)

demo: check-port setup-run ## the same, always against the simulator
	@exec $(BIN)/echoctl up --demo --port $(PORT) --data $(DATA) $(ARGS)

# A --port among the arguments wins over PORT; echoctl itself looks at that one.
check-port:
	@$(if $(findstring --port,$(ARGS)),:,scripts/check_port.sh $(PORT))

setup-run: ## make .venv for running (done by `make run`)
	@scripts/setup.sh run

setup: ## make .venv with everything, for tests as well (done by `make test`)
	@scripts/setup.sh dev

lint: setup ## ruff, mypy, import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	PYTHONPATH=libs $(BIN)/lint-imports --no-cache

format: setup ## let ruff put the code in form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

test: lint ## lint and all tests but the long and the container ones
	CHROMIUM_PATH="$$(scripts/chromium.sh)" scripts/tests.sh "not deep and not docker" $(ARGS)

test-deep: setup ## the long tests
	CHROMIUM_PATH="$$(scripts/chromium.sh)" HYPOTHESIS_PROFILE=deep scripts/tests.sh "deep and not docker" $(ARGS)

test-docker: setup ## the tests that need a container daemon
	$(BIN)/pytest -m docker $(ARGS)

pictures: setup ## take the pictures of docs/images anew
	CHROMIUM_PATH="$$(scripts/chromium.sh)" ECHO_PICTURES=docs/images \
	    $(BIN)/pytest tests/live/browser/test_pictures.py $(ARGS)

bench: setup ## measurements, side by side with the bare work
	$(BIN)/python -m tests.bench $(ARGS)

lock: setup ## resolve the dependencies anew into requirements/*.txt
	$(BIN)/uv pip compile --quiet requirements/setup.in --python-version 3.11 --generate-hashes --no-header \
	    -o requirements/setup.txt
	$(BIN)/uv pip compile --quiet pyproject.toml --extra openwebui --extra embedding --group dev --group fuzz --override requirements/override.txt \
	    --python-version 3.11 --generate-hashes --no-header -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet pyproject.toml --extra openwebui --override requirements/override.txt \
	    -c requirements/dev.txt --python-version 3.11 --generate-hashes --no-header -o requirements/run.txt
	$(BIN)/uv pip compile --quiet pyproject.toml --extra embedding -c requirements/dev.txt \
	    --python-version 3.11 --generate-hashes --no-header -o requirements/embedding.txt

clean: ## remove what set-up and tests made; .run/ (your data) stays
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
	rm -rf libs/*.egg-info
