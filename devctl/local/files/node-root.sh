#!/bin/sh
# Makes a node's view of the file system. Runs once in a fresh mount and network namespace
# (unshare --mount=FILE --net=FILE); whoever enters the namespace later finds it ready.
set -eu

image_root=$1   # the unpacked node image, read-only for the node
node=$2         # the node's own folder: etc/, var/
run=$3          # what goes with the namespace: root/ is where the new root is put together
programs=$4     # the built programs
home=$5         # the folder behind this node's ReadWriteOnce volumes
shared=$6       # the folder behind the ReadWriteMany volumes of all nodes

root=$run/root
mount --bind "$image_root" "$root"
mount -o remount,bind,ro "$root"
mount --bind "$node/etc" "$root/etc"
mount --bind "$node/var" "$root/var"
mount --bind "$home" "$root/srv/volumes/home"
mount --bind "$shared" "$root/srv/volumes/shared"
mount --bind "$programs" "$root/opt/devctl/programs"
mount -o remount,bind,ro "$root/opt/devctl/programs"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
# A sysfs of this network namespace; the control groups are the host's.
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
# Where the host has loadable modules, kube-proxy looks for them.
if [ -d /lib/modules ]; then
  mount --bind /lib/modules "$root/lib/modules"
  mount -o remount,bind,ro "$root/lib/modules"
fi

# With both arguments the same the old root lies on top of the new one until it is let go.
cd "$root"
pivot_root . .
umount --lazy .
# Volumes that the kubelet mounts must show up inside containers.
mount --make-rshared /
