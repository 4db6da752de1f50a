#!/bin/sh
# The main job on a kernel of samples/: build it, run it on the simulator, show where its cycles go, write a report.
# Only files of its own making, in out/, are replaced.
set -eu
. "$(dirname "$0")/common.sh"

kernel=samples/gemm_rdna35/gemm_rdna35.co
shape=128,128,256
capture=out/gemm_rdna35.isaprof
report=out/report.html

say "assembling the sample kernels"
.venv/bin/python samples/build.py >/dev/null || fail "the sample kernels could not be built" ".venv/bin/isaprof doctor"

mkdir -p out
say "isaprof run $kernel --shape $shape"
.venv/bin/isaprof run "$kernel" --shape "$shape" -o "$capture" --force
say "isaprof report $capture -o $report"
.venv/bin/isaprof report "$capture" -o "$report" --force >/dev/null

cat <<END

The report:    open $report in a browser (it is one file and fetches nothing)
The terminal:  .venv/bin/isaprof tui $capture
The table:     .venv/bin/isaprof show $capture
Your kernel:   .venv/bin/isaprof run KERNEL.co --shape M,N,K
END
