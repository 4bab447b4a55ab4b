// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
// Priorities for netdevsim, whose ports have none: PFC and traffic classes that are kept and told, nothing more. kernel.py includes this
// file in netdevsim's netdev.c. The table of applications, the checks of requests and the notifications are the kernel's own (net/dcb).
// The state is one for all ports: the tests have one.
#include <linux/dcbnl.h>
#include <net/dcbnl.h>

static struct ieee_pfc railcni_pfc = {.pfc_cap = 8, .delay = 7};
static struct ieee_ets railcni_ets = {.ets_cap = 8, .prio_tc = {0, 1, 2, 3, 4, 5, 6, 7}};

static int railcni_getpfc(struct net_device* dev, struct ieee_pfc* pfc) {
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
