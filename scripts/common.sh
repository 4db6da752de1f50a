# shellcheck shell=sh
# Sourced by the other scripts: messages, root, and the Python to use.

cd "$(dirname "$0")/.." || exit 1

say() { printf '%s\n' "==> $*" >&2; }

# fail MESSAGE COMMAND...: stop, with the commands to type, one a line
fail() {
    printf '\n%s\n' "STOPPED: $1" >&2
    shift
    if [ $# -gt 0 ]; then
        printf '%s\n' "Type this, then run make again:" >&2
        printf '    %s\n' "$@" >&2
    fi
    exit 1
}

is_root() { [ "$(id -u)" -eq 0 ]; }

have_apt() { command -v apt-get >/dev/null 2>&1; }

# quietly COMMAND...: its output is shown only if it fails
quietly() {
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        rm -f "$log"
    else
        tail -n 30 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

apt_install() { quietly env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }

apt_update() { quietly apt-get update || say "apt-get update failed; going on with the package lists at hand"; }

# print the first Python >= 3.11 on PATH
find_python() {
    for candidate in python3 python3.11 python3.12 python3.13 python3.14; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}
