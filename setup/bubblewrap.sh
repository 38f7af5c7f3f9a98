#!/bin/sh
# Install bubblewrap, which the sandbox is made with, if it is missing and this account may install packages.
# Doorward also works without it, with a weaker sandbox, so this says what is missing and never fails.
#
# usage: bubblewrap.sh STAMP    the file STAMP marks that it was tried, so that it is not tried again and again

stamp=$1
patience=300 # seconds for each run of a package manager

present() {
	command -v bwrap >/dev/null 2>&1
}

# The words before a command that let it change the system; fails when this account may not.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		echo env
	elif command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1 </dev/null; then
		echo sudo -n env
	else
		return 1
	fi
}

manager() {
	for one in apt-get dnf pacman apk zypper; do
		if command -v "$one" >/dev/null 2>&1; then
			echo "$one"
			return
		fi
	done
	return 1
}

# What a person would type.
by_hand() {
	case $1 in
	pacman) echo "pacman -S bubblewrap" ;;
	apk) echo "apk add bubblewrap" ;;
	*) echo "$1 install bubblewrap" ;;
	esac
}

bounded() {
	if command -v timeout >/dev/null 2>&1; then
		timeout "$patience" "$@"
	else
		"$@"
	fi
}

# $1 is the package manager, the rest are the words of as_root.
install_with() {
	one=$1
	shift
	case $one in
	apt-get)
		set -- "$@" DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=60 \
			-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20
		# The lists of packages are fetched only when the package is not found by those that are there.
		bounded "$@" install -y --no-install-recommends bubblewrap ||
			{ bounded "$@" update && bounded "$@" install -y --no-install-recommends bubblewrap; }
		;;
	dnf) bounded "$@" dnf -q -y install bubblewrap ;;
	# Without -y: new lists would have to be followed by an upgrade of everything, which is not ours to start.
	pacman) bounded "$@" pacman -S --noconfirm --needed bubblewrap ;;
	apk) bounded "$@" apk add -q --no-cache bubblewrap ;;
	zypper) bounded "$@" zypper -q -n install bubblewrap ;;
	esac </dev/null 2>&1
}

try() {
	if ! found=$(manager); then
		why="no package manager known here was found"
	elif ! words=$(as_root); then
		why="only root can install it, and sudo asks for a password or is missing"
	elif [ -e "$stamp" ]; then
		why="installing it failed before; remove $stamp to try again"
	else
		echo "Installing bubblewrap for the sandbox: $(by_hand "$found")" >&2
		: >"$stamp"
		# shellcheck disable=SC2086 # these are several words
		said=$(install_with "$found" $words)
		code=$?
		why="installing it ended with $code${said:+: $(echo "$said" | tail -n 1)}"
	fi
}

present && exit 0
try
present && exit 0
echo "bubblewrap is not installed ($why). Doorward works without it, but its sandbox is then degraded: programs get" \
	"no namespaces of their own. To install it: $(by_hand "${found:-apt-get}")" >&2
exit 0
