// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
// The slow path for netdevsim's representors, which have none: packets that are counted as if the CPU had forwarded them for want of a flow
// in the NIC (the module's parameter railcni_slow: so many a second, received by the representor); nothing more. modules.py includes this
// file in netdevsim's netdev.c. The message that tells them, and whether it is asked for, are the kernel's own (net/core/rtnetlink.c).
// The state is one for all ports: the tests have one pod.
#include <linux/if_link.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/netdevice.h>

static unsigned int railcni_slow;
module_param(railcni_slow, uint, 0644);
static u64 railcni_slow_packets;
static unsigned long railcni_slow_counted;  // until when, in jiffies

static bool railcni_has_offload_stats(const struct net_device* dev, int attr_id) {
  return attr_id == IFLA_OFFLOAD_XSTATS_CPU_HIT;
}

static int railcni_get_offload_stats(int attr_id, const struct net_device* dev, void* attr_data) {
  struct rtnl_link_stats64* stats = attr_data;
  unsigned long now = jiffies;
  if (attr_id != IFLA_OFFLOAD_XSTATS_CPU_HIT) return -EINVAL;
  if (railcni_slow_counted != 0)
    railcni_slow_packets += (u64)railcni_slow * jiffies_to_msecs(now - railcni_slow_counted) / 1000;
  railcni_slow_counted = now;
  stats->rx_packets = railcni_slow_packets;
  stats->rx_bytes = railcni_slow_packets * 1024;
  return 0;
}
