# Every target works in a fresh clone with Go (see go.mod), a C compiler and Python 3.10 or later.
# PYTHON picks the interpreter that .venv is made with; remove .venv to change it.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
RAY := build/venv-ray
PEERS := build/venv-peers
DOCS := build/venv-docs
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# What the native parts are made of. Folders count too: their time changes when a file comes or goes.
NATIVE := setup.py go.mod go.sum python/eagleray/_version.py \
	$(shell find $(wildcard cmd core kernels pybind raftstate) -type d -o -type f ! -name '*_test.go')
GO_DIRS = $(wildcard cmd core kernels pybind raftstate tests)
PYTESTS = $(wildcard tests/e2e tests/robust)

# kernels/cuda needs NVIDIA's cuda.h, which setup.py takes from a wheel; a bare `go build ./...` leaves it out.
CUDA := $(CURDIR)/build/cuda
export GOFLAGS := $(strip $(GOFLAGS) -tags=cuda)
export CGO_CFLAGS := -g -O2 -I$(CUDA)
export CGO_LDFLAGS := -g -O2 -L$(CUDA)

.DEFAULT_GOAL := help
.PHONY: help dev build demo test pytest race asan check fmt compat bench short plots docs wheel trywheels gen fuzz sim histories robust soak mutants real clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: $(VENV)/.native $(VENV)/.bytecode ## make .venv, which runs the Python sources as they lie here; rebuilds Go only when it changed

build: dev ## dev, and every Go package
	go build ./...

demo: dev $(VENV)/.examples ## run the examples
	$(PY) examples/gpu_chapter.py
	$(PY) examples/resident_actor.py
	go run ./examples/residentgo
	$(PY) examples/digits.py
	$(PY) examples/cluster.py

test: build race sim pytest short ## vet, all Go tests with the race detector, the simulations, all Python tests, the benchmark's short form

# Many tests wait for processes, so more run at a time than there are processors on a small machine.
JOBS ?= 3
# Simulations of machines that run on one goroutine: there is no race to detect in them, and they take three times as long with the detector.
SIMULATIONS := ^(TestSim_|TestMachine_(Random|Same))
race: dev ## go vet and the Go tests with the race detector, all but the simulations
	go vet ./...
	EAGLERAY_PYTHON=$(CURDIR)/$(PY) go test -race -p $(JOBS) -skip '$(SIMULATIONS)' ./...

asan: ## the C of kernels under the address sanitizer
	ASAN_OPTIONS=detect_leaks=0 go test -asan ./kernels/...

# The tests of a file share sessions, so they run in one process. Those with the mark alone run when all others have ended.
pytest: dev build/ahead/.ready build/ray-libs/.ready $(VENV)/.examples ## the Python tests, those of JOBS (3) files at a time
	$(PY) -m pytest -n $(JOBS) --dist loadfile -m 'not alone' --durations=40 --durations-min=3 $(PYTESTS)
	$(PY) -m pytest -m alone $(PYTESTS)

short: dev ## fail when a line of the benchmark costs 15 % more CPU than stored, beside loops measured with it
	$(PY) tests/bench/short.py

check: dev ## formatting, vet, linters and types; the embedded CUDA code against its sources
	@out=$$(gofmt -l $(GO_DIRS)); test -z "$$out" || { echo "gofmt: $$out"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	@$(PY) setup.py -q check_hot
	$(PY) kernels/src/compile_ptx.py --tools build/cuda/tools --check
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) -m basedpyright
	$(PY) tests/bench/table.py --check
	$(PY) tests/compat/table.py --check

fmt: ## format the Go and Python sources
	gofmt -w $(GO_DIRS)
	$(PY) -m ruff check --fix --quiet
	$(PY) -m ruff format

compat: dev $(RAY)/.ready ## run the differential scripts against Ray (10 minutes)
	$(PY) tests/compat/table.py
	$(PY) tests/compat/run.py --shared --python $(CURDIR)/$(PY) --ray-python $(CURDIR)/$(RAY)/bin/python

LIBRARIES ?=
real: dev build/ray-libs/.ready ## run small programs of libraries that use Ray under Eagle Ray and under Ray; LIBRARIES= chooses
	$(PY) tests/compat/real/run.py $(LIBRARIES)

BENCH ?= --quick
BENCH_SYSTEMS = --ours-python $(CURDIR)/$(PY) --ray-python $(CURDIR)/$(RAY)/bin/python
DRAW = $(PEERS)/bin/python tests/bench/plots.py && $(PY) tests/bench/table.py
bench: dev $(RAY)/.ready $(PEERS)/.ready ## measure beside Ray and others (15 minutes), write the README's table; BENCH= for the long form
	@failed=0; \
	$(PY) tests/bench/run.py $(BENCH) $(BENCH_SYSTEMS) --peers-python $(CURDIR)/$(PEERS)/bin/python --name latest || failed=1; \
	$(PY) tests/bench/curves.py $(filter --quick,$(BENCH)) $(BENCH_SYSTEMS) || failed=1; \
	$(DRAW) || failed=1; \
	exit $$failed

plots: dev $(PEERS)/.ready ## draw the plots and write the README's table from the result files that are there
	$(DRAW)

# Interpreters to build wheels for: those in PATH, and those of pyenv.
PYTHONS ?= python3.10 python3.11 python3.12 python3.13 $(wildcard $(HOME)/.pyenv/versions/3.1[0-3].*/bin/python3)
TAG = import sys; print("%d.%d" % sys.version_info[:2])
wheel: $(VENV)/.tools ## wheels in dist/: manylinux, one for each of PYTHONS that is here, and the one that gives `import ray`
	rm -rf build/wheel dist
	@built=; for python in $(PY) $(PYTHONS); do \
		tag=$$($$python -c '$(TAG)' 2>/dev/null) || continue; \
		case " $$built " in *" $$tag "*) continue;; esac; \
		echo "wheel: Python $$tag, $$python"; \
		$$python -m pip wheel -q --disable-pip-version-check --no-deps --wheel-dir build/wheel . || exit 1; \
		built="$$built $$tag"; \
	done; for tag in 3.10 3.11 3.12 3.13; do \
		case " $$built " in *" $$tag "*) ;; *) echo "wheel: no Python $$tag was found, so there is no wheel for it";; esac; \
	done
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m auditwheel repair --wheel-dir dist build/wheel/eagleray-*.whl
	$(PY) -m pip wheel -q --no-deps --wheel-dir dist python/ray_compat

VERSIONS ?=
trywheels: $(VENV)/.tools ## install the wheels of dist/ in virtual environments of their versions and run a program of 70 checks; VERSIONS= chooses
	$(PY) tests/wheels/run.py $(VERSIONS)

docs: dev $(DOCS)/.ready ## the site of the documentation in build/docs: the pages, the Python and the Go reference; broken links fail; Python 3.11.5 or later
	rm -rf build/docs build/reference
	$(PY) docs/site/reference.py build/reference
	go run ./tests/godoc build/reference/go core core/worker kernels raftstate
	PATH="$(CURDIR)/$(DOCS)/bin:$$PATH" NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/python -m mkdocs build -q

gen: dev ## regenerate the generated sources
	go generate ./...

FUZZTIME ?= 10s
fuzz: $(CUDA)/cuda.h ## run every fuzz test for FUZZTIME (10s)
	@go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | while read -r pkg; do \
		for name in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$pkg || exit 1; \
		done; \
	done

SEEDS ?= 2000
sim: ## pure machines under SEEDS (2000) seeds of random faults; SEED= repeats one
	go test -count=1 -run '$(SIMULATIONS)' ./core/internal/alive/ ./core/internal/dir/ ./core/internal/place/ ./core/internal/refs/ ./core/internal/resume/ -args -sim.seeds=$(SEEDS) $(if $(filter command environment,$(origin SEED)),-sim.seed=$(SEED))
	go test -run '$(SIMULATIONS)' ./core/internal/sched/ ./core/internal/warden/

histories: ## what clients of several heads were told under SEEDS (2000) seeds of kills and cuts, checked with Porcupine; FIRST= is the first seed
	go test -count=1 -timeout=60m -v -run '^TestHistories$$' ./core/internal/histories/ -args -histories.seeds=$(SEEDS) -histories.plans $(if $(FIRST),-histories.first=$(FIRST))

SEED ?= $(shell od -An -N3 -tu4 /dev/urandom | tr -d ' ')
PROGRAMS ?= 1000
PARTS ?=
BUGS ?=
ROBUST = cd tests/robust && $(CURDIR)/$(PY) -m
robust: dev build/planted/.ready ## kills, random programs and planted bugs at full size (40 minutes); SEED= repeats a run, PARTS= and BUGS= choose
	$(ROBUST) chaos.everything --seed $(SEED) --programs $(PROGRAMS) --planted $(CURDIR)/build/planted --bugs '$(BUGS)' $(PARTS)

MINUTES ?= 30
soak: dev ## mixed load for MINUTES (30): memory ends as it was at minute 5
	$(ROBUST) chaos.soak --seed $(SEED) --minutes $(MINUTES)

N ?= 20
PACKAGES ?=
FILES ?=
MODULES ?=
mutants: dev ## change N (20) places of each group and see whether tests notice; SEED=, PACKAGES=, FILES= and MODULES= choose which
	@seed=$(SEED); echo "SEED=$$seed"; result=0; \
	if test -n '$(PACKAGES)$(FILES)' || test -z '$(MODULES)'; then go run ./tests/mutants -seed $$seed -n $(N) -packages '$(PACKAGES)' -files '$(FILES)' || result=1; fi; \
	if test -n '$(MODULES)' || test -z '$(PACKAGES)$(FILES)'; then $(PY) tests/mutants/python_mutants.py --seed $$seed -n $(N) --modules '$(MODULES)' || result=1; fi; \
	exit $$result

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist python/eagleray/_bin python/eagleray/_core.*.so python/ray_compat/build
	find python -name '*.egg-info' -prune -exec rm -rf {} +

$(VENV)/.tools: tests/requirements.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q -r tests/requirements.txt
	@echo '$(CURDIR)/python' > $$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/eagleray_dev.pth
	@printf '%s\n' '#!$(CURDIR)/$(PY)' 'from eagleray._private.cli import main' 'main()' > $(VENV)/bin/eagleray
	@chmod +x $(VENV)/bin/eagleray
	@touch $@

$(RAY)/.ready: tests/compat/requirements.txt
	test -x $(RAY)/bin/python || $(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install -q -r tests/compat/requirements.txt
	@touch $@

$(PEERS)/.ready: tests/bench/requirements.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install -q -r tests/bench/requirements.txt
	@touch $@

$(DOCS)/.ready: docs/site/requirements.txt
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install -q -r docs/site/requirements.txt
	@touch $@

$(CUDA)/cuda.h: $(VENV)/.tools
	$(PY) setup.py -q cuda_files
	@touch $@

$(VENV)/.native: $(VENV)/.tools $(CUDA)/cuda.h $(NATIVE)
	$(PY) setup.py -q build_ext --inplace
	@touch $@

# As pip does at an installation: where PYTHONDONTWRITEBYTECODE is set, every process would compile the sources anew.
$(VENV)/.bytecode: $(VENV)/.tools $(shell find python/eagleray -name '*.py')
	$(PY) -m compileall -q python/eagleray
	@touch $@

build/planted/.ready: $(VENV)/.native $(shell find python/eagleray -name '*.py')
	$(PY) setup.py -q build_planted
	@touch $@

build/ahead/.ready: $(VENV)/.native $(shell find python/eagleray -name '*.py')
	$(PY) setup.py -q build_ahead
	@touch $@

build/ray-libs/.ready: $(VENV)/.native python/eagleray/_private/libraries/releases.py
	EAGLERAY_RAY_LIBS=$(CURDIR)/build/ray-libs $(VENV)/bin/eagleray ray-libs install
	@touch $@

$(VENV)/.examples: $(VENV)/.tools examples/requirements.txt
	$(PY) -m pip install -q -r examples/requirements.txt
	@touch $@
