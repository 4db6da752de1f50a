#!/bin/sh
# install.sh [dev]: make .venv and install isaprof into it (editable), with the development tools if asked.
set -eu
. "$(dirname "$0")/common.sh"

extra=${1:-}
python=$(find_python) || fail "no Python 3.11 or newer on PATH" \
    "apt-get update && apt-get install -y python3.11 python3.11-venv   # or the newest your system has"

if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        package="python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
        if is_root && have_apt; then
            say "installing $package (the virtual environments of Python)"
            apt_update
            apt_install "$package" || fail "could not install $package" "apt-get install -y $package"
        else
            fail "this Python has no venv module" "sudo apt-get install -y $package"
        fi
    fi
    say "making the virtual environment .venv with $python"
    "$python" -m venv --clear .venv || fail "could not make .venv" "$python -m venv --clear .venv"
fi

say "installing isaprof${extra:+ and its $extra tools} into .venv"
quietly .venv/bin/python -m pip install --disable-pip-version-check --editable ".${extra:+[$extra]}" ||
    fail "pip could not install isaprof (its message is above)" \
        ".venv/bin/python -m pip install --editable '.${extra:+[$extra]}'"
if [ "$extra" = dev ]; then
    # optional, and not built for every Python: without it one test skips by name
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: rocm-bindings-hip \
        >/dev/null 2>&1 || say "note: rocm-bindings-hip cannot be had for this Python; its test will be skipped"
fi
# the simulator's fast executor is compiled on the machine that uses it; without a compiler NumPy does its work
if ! command -v cc >/dev/null 2>&1 && ! command -v gcc >/dev/null 2>&1 && ! command -v clang >/dev/null 2>&1 &&
    [ ! -x /opt/rocm/llvm/bin/clang ] && [ -z "${CC:-}" ]; then
    if is_root && have_apt; then
        say "installing a C compiler (for the simulator's fast executor)"
        apt_update
        apt_install gcc libc6-dev || say "note: no C compiler could be installed; the simulator will be slow"
    else
        say "note: no C compiler; the simulator will be slow: sudo apt-get install -y gcc libc6-dev"
    fi
fi
.venv/bin/python -c "from isaprof.sim.fast import build; build.load()" 2>/dev/null ||
    say "note: the fast executor cannot be compiled here; the simulator will use NumPy"
touch ".venv/.isaprof-${extra:+$extra-}installed"
