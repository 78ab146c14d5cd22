# What a person does here. `make help` lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPORT ?= report
WORKERS ?= 2
# The environment of a live server, and the version of vLLM in it: one of constraints-live-*.txt.
LIVE ?= .venv-live
VLLM ?= 0.32
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-warn-script-location -c constraints.txt

.PHONY: help report test test-quick check live live-env bench bench-spark bench-bounds bench-gate bench-generate bench-replay bench-tier sample dist clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

report: $(VENV)/base  ## characterize sample_data/calls.csv.gz and print where the report lies
	$(BIN)/kvcensus characterize sample_data/calls.csv.gz --format calls --name "sample data" --live sample_data/live --out $(REPORT)

test: $(VENV)/dev  ## run every test
	$(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder

test-quick: $(VENV)/dev  ## run the tests on DuckDB that are not slow
	$(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder -m 'not slow' --durations=5 --durations-min=1

check: $(VENV)/dev  ## lint, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

live: $(VENV)/base $(LIVE)/made  ## measure the tier policies on real servers on the CPU: live/, and small in sample_data/live; ten minutes
	$(BIN)/python sample_data/live.py --out live

live-env: $(LIVE)/made  ## make .venv-live: vLLM for the CPU, and the plugin, for the tests with a real server

bench: $(VENV)/dev  ## measure speed and memory against a plain DuckDB pass, on a generated trace
	$(BIN)/python benchmarks/bench.py

bench-spark: $(VENV)/dev  ## measure Spark beside DuckDB, on the same trace
	$(BIN)/python benchmarks/bench_spark.py

bench-bounds: $(VENV)/dev  ## measure the bounds on misses against one sort
	$(BIN)/python benchmarks/bench_bounds.py

bench-gate: $(VENV)/dev  ## measure the tier policies against LRU, with 100,000 resident blocks
	$(BIN)/python benchmarks/bench_gate.py

bench-generate: $(VENV)/dev  ## measure the generator against writing the same rows to Parquet
	$(BIN)/python benchmarks/bench_generate.py

# What libcachesim depends on beyond NumPy serves traces in S3 only, and wants an older python-dateutil than we have.
bench-replay: $(VENV)/dev  ## measure the residency replay against libCacheSim, on the same trace
	$(PIP) --no-deps libcachesim
	$(BIN)/python benchmarks/bench_replay.py

bench-tier: $(VENV)/dev  ## measure the tier simulator, in turns a minute of processor time
	$(BIN)/python benchmarks/bench_tier.py

sample: $(VENV)/base  ## make sample_data/ anew
	$(BIN)/python sample_data/make.py
	$(BIN)/python sample_data/windows.py

dist: $(VENV)/spark  ## pack code and environment for the executors of a Spark cluster, in dist/
	$(BIN)/python -m pipelines.dist

clean:  ## remove the environment, caches, the sample reports and dist/
	rm -rf $(VENV) .venv-live* $(REPORT) notebooks/results dist *.egg-info replay/gate/*.egg-info replay/gate/build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit("kvcensus needs Python 3.11 or newer; set PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# kvcensus-gate is named by its path: no index has it.
$(VENV)/base: $(VENV)/made pyproject.toml replay/gate/pyproject.toml constraints.txt
	$(PIP) -e ./replay/gate -e .
	@touch $@

$(VENV)/dev: $(VENV)/base
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/spark: $(VENV)/base
	$(PIP) -e '.[spark]'
	@touch $@

# --no-deps: the file names all that is needed. vLLM asks for more, builds for GPUs that break it on a CPU.
$(LIVE)/made: constraints-live-$(VLLM).txt replay/gate/pyproject.toml
	$(PYTHON) -m venv $(LIVE)
	$(LIVE)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r $<
	$(LIVE)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -e ./replay/gate
	@touch $@
