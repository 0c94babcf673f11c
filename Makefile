# `make demo` and `make test` set up their own environment in .venv and are quick to repeat.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NATIVE := $(wildcard $(foreach depth,* */*,src/liquidtime/ops/$(depth)/*.cpp src/liquidtime/ops/$(depth)/*.h))

.PHONY: demo test lint types layers tests sanitize clean

demo: $(READY)
	$(BIN)/liquidtime demo

test: lint types layers tests sanitize

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

# All with the kernels, which must be there; then, on the plain loops, what both of them compute.
tests: $(READY)
	LIQUIDTIME_BACKEND=native $(BIN)/pytest -n 2
	LIQUIDTIME_BACKEND=reference $(BIN)/pytest -n 2 tests/ops tests/cells tests/layers

sanitize: build/sanitize/.passed

build/sanitize/.passed: $(READY) CMakeLists.txt tests/ops/sanitize.cpp $(NATIVE)
	$(BIN)/cmake -S . -B build/sanitize -DLIQUIDTIME_SANITIZE=ON
	$(BIN)/cmake --build build/sanitize --target sanitize -j 2
	build/sanitize/sanitize
	touch $@

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps aeon  # for its data files only
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
