#!/bin/sh
# Make .venv from requirements.lock and install the command `pulka` into it; at once done when nothing has changed.
# POSIX sh, no root, no network but what pip is configured to use. What is missing is said in one line.
set -eu

cd "$(dirname "$0")/../.."
venv=.venv
stamp=$venv/.pulka-set-up # written last: what it holds is then whole

missing() {
    printf 'make setup: %s\n' "$1" >&2
    exit 2
}

# What the environment was made from. The folder counts too: see `moved`.
state() {
    { pwd -P; cat requirements.lock pyproject.toml; } | cksum
}

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(state)" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

fits() { # a name may exist and still not run (pyenv), or be too old
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

moved() { # the scripts in .venv/bin name their Python by its whole path
    grep -q '^command = ' "$venv/pyvenv.cfg" && ! grep -qF -- " $(pwd -P)/$venv" "$venv/pyvenv.cfg"
}

if ! fits "$venv/bin/python" || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1 || moved; then
    python=
    for name in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.11 python3.14 python3; do # a wish, then the tested ones
        if fits "$name"; then
            python=$name
            break
        fi
    done
    [ -n "$python" ] || missing 'no Python 3.11 or newer found (looked for python3.13, python3.12, python3.11, python3.14, python3)'
    "$python" -c 'import ensurepip, venv' 2>/dev/null || missing "$python has no venv module (on Debian: apt install python3-venv)"
    printf 'make setup: making %s with %s\n' "$venv" "$python" >&2
    "$python" -m venv --clear "$venv" || missing "could not make $venv"
fi

say() {
    printf 'make setup: %s\n' "$1" >&2
}

# Run pip with these arguments and say every other second how far it is; its own words only where it fails.
told() {
    words=$venv/.pip-said
    "$venv/bin/python" -m pip --disable-pip-version-check --no-input install --progress-bar off "$@" >"$words" 2>&1 &
    pip=$!
    trap 'kill "$pip" 2>/dev/null; exit 130' INT TERM # a job in the background does not hear Ctrl-C
    before=
    while kill -0 "$pip" 2>/dev/null; do
        sleep 2
        now=$(how_far "$words")
        [ "$now" = "$before" ] || say "$now"
        before=$now
    done
    trap - INT TERM
    wait "$pip" || { cat "$words" >&2; return 1; }
    rm -f "$words"
}

how_far() {
    if grep -q '^Installing collected packages' "$1"; then
        echo "installed $(find "$venv"/lib/python*/site-packages -maxdepth 1 -name '*.dist-info' | wc -l | tr -d ' ') of about $packages packages"
    else
        echo "downloaded $(grep -c '^Collecting' "$1") of about $packages packages"
    fi
}

rm -f "$stamp"
packages=$(grep -c '^[A-Za-z0-9].*==' requirements.lock) # about: some are for other systems
say "downloading and installing about $packages packages into $venv; a minute or two the first time"
told --require-hashes -r requirements.lock || missing 'pip could not install requirements.lock (its reason is above)'
say 'installing the command pulka'
"$venv/bin/python" -m pip --disable-pip-version-check --no-input install --quiet --no-deps --no-build-isolation -e . || missing 'pip could not install pulka itself (its reason is above)'
# The search over open cards is compiled beside its source; where that fails, the first question compiles it.
say 'compiling the search over open cards'
"$venv/bin/python" -c 'import shared.rules.open_cards.kernel' 2>/dev/null || :
state >"$stamp"
say 'done'
