#!/bin/sh
# Install LLVM's AMDGPU tools unless usable ones are found, by the same search that isaprof itself does:
# $ISAPROF_LLVM, /opt/rocm/llvm/bin, llvm-*-NN on PATH, newest first.
set -eu
. "$(dirname "$0")/common.sh"

oldest=18

# knows ARCH: isaprof finds tools that know this architecture
knows() {
    .venv/bin/python -c 'import sys
from isaprof.errors import EnvironmentProblem
from isaprof.isa.llvm import find_tools
try:
    find_tools(sys.argv[1])
except EnvironmentProblem:
    sys.exit(1)' "$1"
}

knows gfx950 && exit 0

# newest first: the versions NN for which both llvm-NN and lld-NN can be had; 22 is the one isaprof is tested with
versions() {
    { echo 22; apt-cache pkgnames lld- | sed -n 's/^lld-\([0-9][0-9]\)$/\1/p' | sort -rn; } | while read -r v; do
        if [ "$v" -ge "$oldest" ] && apt-cache show "llvm-$v" "lld-$v" >/dev/null 2>&1; then echo "$v"; fi
    done
}

if ! have_apt; then
    knows gfx1151 || fail "no LLVM with AMDGPU tools (version $oldest or newer) found, and no apt-get here" \
        "export ISAPROF_LLVM=/path/to/llvm/bin   # with llvm-mc, llvm-objdump, llvm-readelf and ld.lld"
elif ! is_root; then
    knows gfx1151 || fail "no LLVM with AMDGPU tools found (looked at \$ISAPROF_LLVM, /opt/rocm/llvm/bin, llvm-*-NN)" \
        "sudo apt-get update && sudo apt-get install -y llvm-22 lld-22" \
        "# where the system has no llvm-22: the newest llvm-NN and lld-NN it has, NN at least $oldest"
else
    say "no LLVM that knows gfx950 found: installing one"
    apt_update
    version=$(versions | head -n 1)
    [ -n "$version" ] || fail "this system has no llvm-NN and lld-NN packages with NN of $oldest or more" \
        "export ISAPROF_LLVM=/path/to/llvm/bin   # with llvm-mc, llvm-objdump, llvm-readelf and ld.lld"
    say "installing llvm-$version and lld-$version"
    apt_install "llvm-$version" "lld-$version" || fail "apt-get could not install LLVM" \
        "apt-get update && apt-get install -y llvm-$version lld-$version"
    knows gfx1151 || fail "LLVM $version was installed, but isaprof cannot use it" ".venv/bin/isaprof doctor"
fi
knows gfx950 || say "note: this LLVM does not know gfx950; isaprof doctor lists which targets it knows"
