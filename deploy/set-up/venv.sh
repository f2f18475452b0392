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
    "$python" -m venv --clear "$venv" || missing "could not make $venv"
fi

echo 'make setup: installing into .venv' >&2
rm -f "$stamp"
pip="$venv/bin/python -m pip --disable-pip-version-check --no-input"
$pip install --quiet --require-hashes -r requirements.lock || missing 'pip could not install requirements.lock (its reason is above)'
$pip install --quiet --no-deps --no-build-isolation -e . || missing 'pip could not install pulka itself (its reason is above)'
# The search over open cards is compiled beside its source; where that fails, the first question compiles it.
"$venv/bin/python" -c 'import shared.rules.open_cards.kernel' 2>/dev/null || :
state >"$stamp"
