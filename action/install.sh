#!/usr/bin/env bash
# Installs vacr as this checkout has it, in an environment of its own; what it needs besides is pinned by hashes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
place=$RUNNER_TEMP/vacr
# Where both actions run in one job, the second finds what the first has installed.
if [ -e "$place.from" ] && [ "$(cat "$place.from")" = "$root" ]; then exit; fi

# Python takes modules from the current folder, which is the repository that is looked at, and from where these variables lead,
# which may be there as well: nothing of it is to be run.
cd "$RUNNER_TEMP"
unset PYTHONHOME PYTHONPATH PYTHONPYCACHEPREFIX PYTHONSTARTUP PYTHONUSERBASE
"$PYTHON" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
	echo "::error::vacr needs Python 3.11 or newer: have actions/setup-python install one before, or name one with the input python"
	exit 2
}
"$PYTHON" -I -m venv --clear "$place"
"$place/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$root/requirements/run.txt"
"$place/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation "$root"
printf %s "$root" >"$place.from"
