#!/bin/bash
# Second program of a guest, on the host's files: makes the system ready, runs what out/command says, and powers off.
# out/ is the one folder that the guest shares with the host: command comes in; status and whatever the command writes
# go out. With railcni.shell on the kernel's command line a shell on the console takes the command's place.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=${TERM:-linux} LANG=C.UTF-8

off() {
  sync
  umount /run/railcni-out || true
  echo o >/proc/sysrq-trigger
  while true; do :; done  # nothing of the host's files is needed any more
}
trap off EXIT

mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/railcni-out /run/lock /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t debugfs debugfs /sys/kernel/debug
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none out /run/railcni-out
ip link set lo up
echo "guest: $(uname -r), up $(cut -d' ' -f1 /proc/uptime) s"

cd /
status=0
if grep -qw railcni.shell /proc/cmdline; then
  setsid --ctty --wait bash --rcfile /run/railcni-out/command -i </dev/ttyS0 >/dev/ttyS0 2>&1 || status=$?
else
  bash /run/railcni-out/command </dev/null || status=$?
fi
echo "$status" >/run/railcni-out/status
echo "guest: ended with status $status, up $(cut -d' ' -f1 /proc/uptime) s"
