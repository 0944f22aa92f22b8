#!/usr/bin/env bash
# Install vacr from this checkout in a separate environment; its dependencies are pinned by hashes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
place=$RUNNER_TEMP/vacr
# If both actions run in one job, the second reuses the environment of the first.
if [ -e "$place.from" ] && [ "$(cat "$place.from")" = "$root" ]; then exit; fi

# Python loads modules from the current folder, which is the audited repository, and from the folders in these variables, which may
# be there, too. Avoid both, so that no code of the repository runs.
cd "$RUNNER_TEMP"
unset PYTHONHOME PYTHONPATH PYTHONPYCACHEPREFIX PYTHONSTARTUP PYTHONUSERBASE
"$PYTHON" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
	echo "::error::vacr needs Python 3.11 or newer. Run actions/setup-python first, or set the input python."
	exit 2
}
"$PYTHON" -I -m venv --clear "$place"
"$place/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$root/requirements/run.txt"
"$place/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation "$root"
printf %s "$root" >"$place.from"
