#!/bin/sh
# Runs what needs a real NVIDIA GPU, and writes what it found to RESULTS/gpu-NAME.{json,txt}.
#
#   tests/gpu/run.sh [NAME]        NAME is the result's name; the GPU's by default
#
# PYTHON    the interpreter that has eagleray with its native parts built (`make dev` or the wheel), numpy and pytest
# RESULTS   the folder of the results: tests/bench/results by default
# GO        the go command; empty where there is none: then the test programs in GO_TESTS run, if there are some
# GO_TESTS  a folder of test programs that were built elsewhere: tests/gpu/run.sh --build-go-tests FOLDER makes them after `make dev`
# SMALL=1   arrays so small that the numbers mean nothing, and no Go tests: for the stand-in for the driver
# GPUS=N    declares N GPUs to the sessions that are started, where the node would find none by itself
#
# Without a GPU it says so and exits with 3; with 1 when a part failed.
set -u
[ -z "${GO_TESTS:-}" ] || GO_TESTS=$(realpath "$GO_TESTS")
cd "$(dirname "$0")/../.."
if [ "${1:-}" = --build-go-tests ]; then
	mkdir -p "$2"
	export CGO_CFLAGS="-g -O2 -I$PWD/build/cuda" CGO_LDFLAGS="-g -O2 -L$PWD/build/cuda"
	exec go test -c -tags cuda -o "$2/cuda.test" ./kernels/cuda
fi
PYTHON=${PYTHON:-.venv/bin/python}
GO=${GO-$(command -v go || true)}
# The sources go first only where `make dev` has put the native parts beside them; else the wheel is what runs.
if ls python/eagleray/_core.*.so >/dev/null 2>&1; then
	export PYTHONPATH="$PWD/python${PYTHONPATH:+:$PYTHONPATH}"
fi

gpu=$("$PYTHON" tests/gpu/bandwidth.py --device) || { echo "no CUDA device: $gpu" >&2; exit 3; }
name=${1:-$(printf '%s' "$gpu" | tr -c 'A-Za-z0-9\n' '-' | tr 'A-Z' 'a-z')}
results=${RESULTS:-tests/bench/results}
mkdir -p "$results"
raw=$results/gpu-$name.txt
small=${SMALL:+--small}
gpus=${GPUS:+--gpus $GPUS}
export EAGLERAY_TEST_GPUS="${GPUS:-}" EAGLERAY_TEST_GPU=1
status=0

part() { # part TITLE COMMAND...: its output goes to the raw file, its failure to the exit status
	title=$1
	shift
	echo "== $title" | tee -a "$raw"
	"$@" >>"$raw" 2>&1 || { status=1; echo "   FAILED, see $raw"; }
}

: >"$raw"
echo "$gpu" | tee -a "$raw"
command -v nvidia-smi >/dev/null && nvidia-smi >>"$raw" 2>&1
part "bandwidth, launches, fresh workers" "$PYTHON" tests/gpu/bandwidth.py $small $gpus --json "$results/gpu-$name.json"
part "isolation, interop, inter-process handles" "$PYTHON" -m pytest -q -p no:cacheprovider tests/gpu
part "every kernel beside the host's" "$PYTHON" tests/gpu/bandwidth.py --every-kernel
if [ -n "$small" ]; then
	echo "== Go tests: not with SMALL" | tee -a "$raw"
elif [ -n "$GO" ]; then
	export CGO_CFLAGS="-g -O2 -I$PWD/build/cuda" CGO_LDFLAGS="-g -O2 -L$PWD/build/cuda"
	part "Go tests on the driver" "$GO" test -count=1 -tags cuda -bench GPU -v ./kernels/cuda
elif [ -x "${GO_TESTS:-}/cuda.test" ]; then
	part "Go tests on the driver" env -C kernels/cuda "$GO_TESTS/cuda.test" -test.bench GPU -test.v
else
	echo "== Go tests: neither Go nor test programs here" | tee -a "$raw"
fi
if command -v compute-sanitizer >/dev/null; then
	part "compute-sanitizer" compute-sanitizer --error-exitcode 1 "$PYTHON" tests/gpu/bandwidth.py --every-kernel
else
	echo "== compute-sanitizer: not installed here" | tee -a "$raw"
fi
grep -E '^(FAILED|--- FAIL|[0-9]+ (passed|failed))' "$raw"
echo "results: $results/gpu-$name.json, $raw"
exit $status
