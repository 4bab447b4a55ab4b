// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
// Priorities for netdevsim, whose ports have none: PFC and traffic classes that are kept and told, and pauses that are counted as if the
// other end sent them (the module's parameter railcni_pauses: so many a second, of priority 3); nothing more. modules.py includes this
// file in netdevsim's netdev.c. The table of applications, the checks of requests and the notifications are the kernel's own (net/dcb).
// The state is one for all ports: the tests have one.
#include <linux/dcbnl.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <net/dcbnl.h>

static struct ieee_pfc railcni_pfc = {.pfc_cap = 8, .delay = 7};
static struct ieee_ets railcni_ets = {.ets_cap = 8, .prio_tc = {0, 1, 2, 3, 4, 5, 6, 7}};

static unsigned int railcni_pauses;
module_param(railcni_pauses, uint, 0644);
static unsigned long railcni_counted;  // until when, in jiffies

static int railcni_getpfc(struct net_device* dev, struct ieee_pfc* pfc) {
  unsigned long now = jiffies;
  if (railcni_counted != 0)
    railcni_pfc.indications[3] += (u64)railcni_pauses * jiffies_to_msecs(now - railcni_counted) / 1000;
  railcni_counted = now;
  *pfc = railcni_pfc;
  return 0;
}

static int railcni_setpfc(struct net_device* dev, struct ieee_pfc* pfc) {
  railcni_pfc.pfc_en = pfc->pfc_en;
  railcni_pfc.delay = pfc->delay;
  return 0;
}

static int railcni_getets(struct net_device* dev, struct ieee_ets* ets) {
  *ets = railcni_ets;
  return 0;
}

static int railcni_setets(struct net_device* dev, struct ieee_ets* ets) {
  railcni_ets = *ets;
  railcni_ets.ets_cap = 8;
  return 0;
}

static u8 railcni_getdcbx(struct net_device* dev) {
  return DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
}

static const struct dcbnl_rtnl_ops railcni_dcbnl_ops = {
    .ieee_getpfc = railcni_getpfc,
    .ieee_setpfc = railcni_setpfc,
    .ieee_getets = railcni_getets,
    .ieee_setets = railcni_setets,
    .getdcbx = railcni_getdcbx,
};
