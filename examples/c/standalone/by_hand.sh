#!/bin/sh
# by_hand.sh N PROGRAM: starts N tasks without a launcher, as the LAPI Guide's chapter 16 says.
n=$1
shift
export MP_PROCS="$n" MP_PARTITION="$$" MP_MSG_API=lapi LAPI_USE_SHM="${LAPI_USE_SHM:-only}"
pids=
i=0
while [ "$i" -lt "$n" ]; do
    MP_CHILD="$i" "$@" &
    pids="$pids $!"
    i=$((i + 1))
done
code=0
for pid in $pids; do
    wait "$pid" || code=$?
done
exit "$code"
