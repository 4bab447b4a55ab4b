// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
// A stand-in of an eSwitch for links that have none. While the module's parameter `takes` is Y it says of each of tc's flows that it has taken
// it: the kernel has the flow as in_hw, and Open vSwitch as offloaded:yes. tc goes on forwarding by itself: what is shown is what is said of
// hardware, and nothing of hardware. As many a NIC it refuses what rewrites more of a packet than its MAC addresses.
// It comes in by the kernel's own door for drivers of others' links (net/core/flow_offload.c, flow_indr_dev_register). It cannot be unloaded.
#include <linux/module.h>
#include <net/flow_offload.h>
#include <net/pkt_cls.h>

static bool takes;
module_param(takes, bool, 0644);

static LIST_HEAD(bound);

static bool can_do(const struct flow_rule* rule) {
  const struct flow_action_entry* action;
  int i;
  flow_action_for_each(i, action, &rule->action) {
    if (action->id == FLOW_ACTION_MANGLE && action->mangle.htype != FLOW_ACT_MANGLE_HDR_TYPE_ETH)
      return false;
  }
  return true;
}

static int on_flow(enum tc_setup_type type, void* data, void* priv) {
  const struct flow_cls_offload* flow = data;
  if (type != TC_SETUP_CLSFLOWER) return -EOPNOTSUPP;
  if (flow->command != FLOW_CLS_REPLACE) return 0;
  return takes && can_do(flow->rule) ? 0 : -EOPNOTSUPP;
}

static int on_link(struct net_device* dev, struct Qdisc* sch, void* priv, enum tc_setup_type type,
                   void* type_data, void* data, void (*cleanup)(struct flow_block_cb* block_cb)) {
  struct flow_block_offload* block = type_data;
  struct flow_block_cb* cb;
  if (dev == NULL || type != TC_SETUP_BLOCK || block->binder_type != FLOW_BLOCK_BINDER_TYPE_CLSACT_INGRESS)
    return -EOPNOTSUPP;
  if (block->command == FLOW_BLOCK_UNBIND) {
    cb = flow_block_cb_lookup(block->block, on_flow, dev);
    if (cb == NULL) return -ENOENT;
    flow_indr_block_cb_remove(cb, block);
    list_del(&cb->driver_list);
    return 0;
  }
  cb = flow_indr_block_cb_alloc(on_flow, dev, dev, NULL, block, dev, sch, data, priv, cleanup);
  if (IS_ERR(cb)) return PTR_ERR(cb);
  flow_block_cb_add(cb, block);
  list_add_tail(&cb->driver_list, &bound);
  return 0;
}

static int __init begin(void) {
  return flow_indr_dev_register(on_link, NULL);
}
module_init(begin);

MODULE_LICENSE("GPL");
