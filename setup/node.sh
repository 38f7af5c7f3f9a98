#!/bin/sh
# Install the official MCP conformance suite and inspector, which the tests hold Doorward against as independent peers,
# and reference servers, which it governs in the tests. Node itself comes with the Python packages of the tests. When
# this fails, the reason is kept for the tests, which then fail with it; everything that needs no Node goes on.
#
# usage: node.sh BIN FOLDER    BIN has npm, FOLDER becomes what package-lock.json beside the tests describes

bin=$1
folder=$2
wanted=tests/conformance
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
		why="npm cannot reach its registry. Try again with a network: make conformance"
	fi
	echo "The MCP conformance suite, inspector and servers are not installed: $why" >"$folder/problem"
	cat "$folder/problem" >&2
	exit 0
}

mkdir -p "$folder"
rm -f "$folder/ready" "$folder/problem"
cp "$wanted/package.json" "$wanted/package-lock.json" "$folder/"
echo "Installing the MCP conformance suite, inspector and servers: npm ci" >&2
# Packages run nothing of their own here, and what is only for other machines or for building stays away.
said=$(npm_ ci --prefix "$folder" --ignore-scripts --omit=optional --no-audit --no-fund 2>&1) || failed $? "$said"
: >"$folder/ready"
