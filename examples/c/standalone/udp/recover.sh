#!/bin/sh
# recover.sh N PROGRAM: starts N tasks by hand, kills the last one, tells the others, and starts it anew.
n=$1
program=$2
export MP_PROCS="$n" MP_PARTITION="$$" MP_MSG_API=lapi LAPI_USE_SHM=no
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
last=$((n - 1))
mkfifo "$dir/said"
MP_CHILD="$last" "$program" >"$dir/said" &
victim=$!
pids=
i=0
while [ "$i" -lt "$last" ]; do
    mkfifo "$dir/to$i"
    # Opened for both, so that nobody waits for the other side.
    MP_CHILD="$i" "$program" <>"$dir/to$i" &
    pids="$pids $!"
    i=$((i + 1))
done
read -r line <"$dir/said"
echo "$line"
kill -KILL "$victim"
wait "$victim"
i=0
while [ "$i" -lt "$last" ]; do
    echo dead >"$dir/to$i"
    i=$((i + 1))
done
MP_CHILD="$last" "$program" again &
pids="$pids $!"
code=0
for pid in $pids; do
    wait "$pid" || code=$?
done
exit "$code"
