#!/usr/bin/env bash
# A Slurm cluster of two nodes on this machine, for as long as one command runs. Takes root, slurmctld, slurmd and munged.
#
#   cluster.sh FOLDER COMMAND [ARG...]     its files are in FOLDER, which is removed at the end
#
# Exit code: that of the command, 125 if the cluster did not come up, 124 if the command took longer than
# LAPIS_CLUSTER_SECONDS (1800) and was ended.
set -euo pipefail
folder=$1; shift
export PATH=$PATH:/usr/sbin:/sbin
host=$(hostname -s)
limit=${LAPIS_CLUSTER_SECONDS:-1800}
# One cluster at a time: the ports are fixed.
exec 9> /tmp/lapis-slurm.lock
flock -w "$limit" 9 || { echo "cluster.sh: another cluster has run for $limit s: nothing was started" >&2; exit 125; }
mkdir -p "$folder"/{state,spool,munge}
cat > "$folder/slurm.conf" <<CONF
ClusterName=lapis
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
ReturnToService=2
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[27001-27002] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:16 State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
stop() {
  for file in "$folder"/slurmd.*.pid "$folder/slurmctld.pid" "$folder/munge/pid"; do
    if [ -f "$file" ]; then
      pid=$(cat "$file"); kill "$pid" 2>/dev/null || true
      # They write to their files to the last. One that does not end in ten seconds is killed.
      for _ in $(seq 200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
      if kill -0 "$pid" 2>/dev/null; then kill -KILL "$pid" || true; fi
    fi
  done
  rm -rf "$folder"
}
trap stop EXIT
head -c 256 /dev/urandom > "$folder/munge/key"; chmod 400 "$folder/munge/key"
munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" > /dev/null 2>&1 9>&-
slurmctld -c > "$folder/slurmctld.out" 2>&1 9>&-
for node in n1 n2; do slurmd -N $node > "$folder/$node.out" 2>&1 9>&-; done
for _ in $(seq 300); do
  if [ "$(timeout 5 sinfo -h -t idle -o %D 2>/dev/null)" = 2 ]; then up=1; break; fi
  sleep 0.2
done
[ -n "${up:-}" ] || { echo "cluster.sh: the nodes did not come up" >&2; cat "$folder"/*.out >&2; exit 125; }
code=0; timeout --kill-after=10 "$limit" "$@" 9>&- || code=$?
[ "$code" != 124 ] || echo "cluster.sh: ended after $limit s: $*" >&2
exit "$code"
