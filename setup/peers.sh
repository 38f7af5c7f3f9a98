#!/bin/sh
# Install the gateways of others that `make bench` measures beside Doorward, each in an environment of its own: they do
# not agree on one version of the SDK. When one cannot be installed, this says so and goes on; its numbers are then
# missing from the table.
#
# usage: peers.sh BIN FOLDER NAME...    BIN has uv and python, and lock/peer-NAME.txt says what FOLDER/NAME becomes

bin=$1
folder=$2
shift 2
patience=600 # seconds for each installation

bounded() {
	if command -v timeout >/dev/null 2>&1; then
		timeout "$patience" "$@"
	else
		"$@"
	fi
}

install() {
	"$bin/uv" venv -q --clear --python "$bin/python" "$folder/$1" &&
		bounded "$bin/uv" pip sync -q --require-hashes --python "$folder/$1/bin/python" "lock/peer-$1.txt"
}

mkdir -p "$folder"
rm -f "$folder/ready"
missing=
for name in "$@"; do
	echo "Installing $name, to be measured beside Doorward: uv pip sync lock/peer-$name.txt" >&2
	if ! said=$(install "$name" 2>&1); then
		missing="$missing $name"
		rm -rf "${folder:?}/$name"
		echo "$name is not installed, and so its numbers will be missing; the next run tries again. uv said:" \
			"$(echo "$said" | head -n 3 | tr '\n' ' ')" >&2
	fi
done
[ -n "$missing" ] || : >"$folder/ready"
exit 0
