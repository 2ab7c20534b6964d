#!/bin/sh
# Runs what needs a real NVIDIA GPU, and writes what it found to tests/bench/results/gpu-NAME.{json,txt}.
#
#   tests/gpu/run.sh [NAME]        NAME is the result's name; the GPU's by default
#
# PYTHON is the interpreter that has eagleray with its native parts built (`make dev` or the wheel); GO may be empty
# where there is no Go: then only the Python part runs. Without a GPU it says so and exits with 3.
set -u
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-.venv/bin/python}
GO=${GO-$(command -v go || true)}
export PYTHONPATH="$PWD/python${PYTHONPATH:+:$PYTHONPATH}"

gpu=$("$PYTHON" tests/gpu/bandwidth.py --device) || { echo "no CUDA device: $gpu" >&2; exit 3; }
name=${1:-$(printf '%s' "$gpu" | tr -c 'A-Za-z0-9\n' '-' | tr 'A-Z' 'a-z')}
results=tests/bench/results
raw=$results/gpu-$name.txt
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
part "bandwidth, launches, fresh workers" "$PYTHON" tests/gpu/bandwidth.py --json "$results/gpu-$name.json"
part "isolation, interop, inter-process handles" "$PYTHON" -m pytest -q -p no:cacheprovider tests/gpu
if [ -n "$GO" ]; then
	part "Go tests on the driver" make cuda-test
fi
if command -v compute-sanitizer >/dev/null; then
	part "compute-sanitizer" compute-sanitizer --error-exitcode 1 "$PYTHON" tests/gpu/bandwidth.py --every-kernel
else
	echo "== compute-sanitizer: not installed here" | tee -a "$raw"
fi
grep -E '^(FAILED|[0-9]+ (passed|failed))' "$raw"
echo "results: $results/gpu-$name.json, $raw"
exit $status
