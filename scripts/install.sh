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
touch ".venv/.isaprof-${extra:+$extra-}installed"
