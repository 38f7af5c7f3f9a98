#!/bin/sh
# Install a system package that Doorward is better with, if it is missing and this account may install packages. What
# needs it says so when it is not there, so this says what is missing and never fails.
#
# usage: system.sh bubblewrap|chromium|nginx STAMP    the file STAMP marks that it was tried, so that it is not tried
#                                                     again and again

package=$1
stamp=$2

case $package in
bubblewrap)
	programs=bwrap
	purpose="for the sandbox"
	without="Doorward works without it, but its sandbox is then degraded: programs get no namespaces of their own."
	patience=300 # seconds for each run of a package manager
	;;
chromium)
	programs="chromium chromium-browser google-chrome"
	purpose="for the tests of the console"
	without="Everything else works without it, but the tests that open the console in a real browser then fail."
	patience=900
	;;
nginx)
	programs="nginx /usr/sbin/nginx"
	purpose="for the test of the set-up behind a proxy"
	without="Everything else works without it, but the test that puts a real proxy in front of Doorward then fails."
	patience=300
	;;
*)
	echo "system.sh: valid packages: bubblewrap, chromium, nginx; given '$package'." >&2
	exit 2
	;;
esac

present() {
	for program in $programs; do
		command -v "$program" >/dev/null 2>&1 && return
	done
	return 1
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
	pacman) echo "pacman -S $package" ;;
	apk) echo "apk add $package" ;;
	*) echo "$1 install $package" ;;
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
		bounded "$@" install -y --no-install-recommends "$package" ||
			{ bounded "$@" update && bounded "$@" install -y --no-install-recommends "$package"; }
		;;
	dnf) bounded "$@" dnf -q -y install "$package" ;;
	# Without -y: new lists would have to be followed by an upgrade of everything, which is not ours to start.
	pacman) bounded "$@" pacman -S --noconfirm --needed "$package" ;;
	apk) bounded "$@" apk add -q --no-cache "$package" ;;
	zypper) bounded "$@" zypper -q -n install "$package" ;;
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
		echo "Installing $package $purpose: $(by_hand "$found")" >&2
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
echo "$package is not installed ($why). $without To install it: $(by_hand "${found:-apt-get}")" >&2
exit 0
