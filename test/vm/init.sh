#!/bin/busybox sh
# shellcheck shell=dash disable=SC2013
# First program of a guest: its root is the host's root, read-only over 9p, below a folder in memory that takes what is
# written. Arguments on the kernel's command line: railcni.modules=FOLDER railcni.guest=SCRIPT.
set -eu
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
modules='' guest=''
for word in $(cat /proc/cmdline); do
  case $word in
    railcni.modules=*) modules=${word#*=} ;;
    railcni.guest=*) guest=${word#*=} ;;
  esac
done
for module in /modules/*.ko; do insmod "$module"; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose host /host
mount -t tmpfs tmpfs /own
mkdir -p /own/upper /own/work
mount -t overlay -o lowerdir=/host,upperdir=/own/upper,workdir=/own/work overlay /new
for folder in proc sys dev; do mount --move /$folder /new/$folder; done
mkdir -p /new/lib/modules
mount --bind "/new$modules" /new/lib/modules
exec switch_root /new /bin/bash "$guest"
