#!/bin/sh
# Installs Debian packages that the tests use and this machine lacks: all of them, or those named as arguments.
# Needs root or sudo. Prints a notice for each package that stays missing; the tests that use it are skipped.
set -u

# Commands or files, of which the package installs at least one | packages | what is not tested without it
table='
/usr/lib/softhsm/libsofthsm2.so|softhsm2|keys in devices
openssl|openssl|timestamps
strace|strace|disk faults
/usr/lib/postgresql postgres|postgresql|logs in PostgreSQL
sqlite3|sqlite3|the documented way to back up a log
faketime|faketime|a clock that moves back
swtpm_setup|swtpm swtpm-tools|evidence from a TPM
tpm2|tpm2-tools|evidence from a TPM
chromium-headless-shell|chromium-headless-shell|the page in a browser, unless Chromium is installed
jq|jq|documentation that uses jq
curl|curl|documentation that uses curl
npm|nodejs npm|the build of the page, and other implementations from npm
nvim|neovim|the language server in an editor
'

is_installed() {
	for sign in $1; do
		[ -e "$sign" ] && return
		command -v "$sign" >/dev/null && return
	done
	return 1
}

# Prints the lines of the table that are asked for and not installed.
missing() {
	printf '%s' "$table" | while IFS='|' read -r signs packages untested; do
		[ -n "$signs" ] || continue
		case " $wanted " in "  " | *" ${packages##* } "*) ;; *) continue ;; esac
		is_installed "$signs" || printf '%s|%s\n' "$packages" "$untested"
	done
}

install() {
	echo "installing $*"
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

wanted=$*
# No command shows that Python's venv module is complete; whoever asks for it has looked.
if [ "$wanted" = python3-venv ]; then packages=$wanted; else packages=$(missing | cut -d'|' -f1 | tr '\n' ' '); fi
[ -n "$packages" ] || exit 0

can_install=true
as_root=
if ! command -v apt-get >/dev/null; then
	can_install=false
elif [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && sudo -v; then as_root=sudo; else can_install=false; fi
fi
if $can_install; then
	# A new machine has no list of packages yet. If one package cannot be had, the others still can.
	$as_root apt-get update -qq
	# shellcheck disable=SC2086 # a list of words
	install $packages || for package in $packages; do install "$package"; done
elif [ "$wanted" = python3-venv ]; then
	exit 1
fi
missing | while IFS='|' read -r packages untested; do
	echo "NOT INSTALLED: $packages. Not tested: $untested."
done
