// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
// Congestion notifications for Soft-RoCE, which sends none: they are counted, under the name that mlx5 gives them, as if packets had come with
// a congestion mark (the module's parameter railcni_cnps: so many a second); nothing more. modules.py includes this file in rdma_rxe's
// rxe_hw_counters.c. The messages that tell the counter are the kernel's own (drivers/infiniband/core/nldev.c).
// The state is one for all devices: the tests have one.
#include <linux/jiffies.h>
#include <linux/moduleparam.h>

static unsigned int railcni_cnps;
module_param(railcni_cnps, uint, 0644);
static u64 railcni_cnps_total;
static unsigned long railcni_cnps_counted;  // until when, in jiffies

static u64 railcni_cnps_sent(void) {
  unsigned long now = jiffies;
  if (railcni_cnps_counted != 0)
    railcni_cnps_total += (u64)railcni_cnps * jiffies_to_msecs(now - railcni_cnps_counted) / 1000;
  railcni_cnps_counted = now;
  return railcni_cnps_total;
}
