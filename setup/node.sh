#!/bin/sh
# Install Node packages that the tests hold Doorward against: the official MCP conformance suite, inspector and reference
# servers, and coding clients. Node itself comes with the Python packages of the tests. When this fails, the reason is
# kept for the tests, which then fail with it; everything that needs no Node goes on.
#
# usage: node.sh BIN FOLDER WANTED WHAT [OPTION...]
#   BIN has npm, FOLDER becomes what package-lock.json in WANTED describes, WHAT names it, and npm ci gets the OPTIONs

bin=$1
folder=$2
wanted=$3
what=$4
shift 4
patience=600 # seconds for the whole installation

bounded() {
	if command -v timeout >/dev/null 2>&1; then
		timeout "$patience" "$@"
	else
		"$@"
	fi
}

npm_() {
	PATH="$bin:$PATH" bounded npm "$@" --no-update-notifier --loglevel=error --fetch-retries=2 \
		--fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000
}

# npm does not always say itself that it reached nobody.
failed() {
	if npm_ ping >/dev/null 2>&1; then
		why="npm ci ended with $1: $(echo "$2" | head -n 3 | tr '\n' ' ')"
	else
		why="npm cannot reach its registry. Try again with a network: make test"
	fi
	echo "$what: not installed. $why" >"$folder/problem"
	cat "$folder/problem" >&2
	exit 0
}

mkdir -p "$folder"
rm -f "$folder/ready" "$folder/problem"
cp "$wanted/package.json" "$wanted/package-lock.json" "$folder/"
echo "$what: installing with npm ci" >&2
# Packages run nothing of their own here.
said=$(npm_ ci --prefix "$folder" --ignore-scripts "$@" --no-audit --no-fund 2>&1) || failed $? "$said"
: >"$folder/ready"
