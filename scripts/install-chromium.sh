#!/bin/sh
# Install chromium for the tests that open a report in a browser. Never fails: those tests skip by name without it.
set -eu
. "$(dirname "$0")/common.sh"

command -v chromium >/dev/null 2>&1 && exit 0
if is_root && have_apt && grep -q '^ID=debian' /etc/os-release 2>/dev/null; then
    say "installing chromium (for the tests that open a report in a browser)"
    apt_update
    apt_install chromium && exit 0
fi
say "no chromium: the tests that open a report in a browser will be skipped (Debian: apt-get install -y chromium)"
