#include "lib/config/changes.h"

#include <utility>

#include "lib/base/text.h"

namespace rail::config {
namespace {

class Comparison {
 public:
  // Each struct is taken apart by all of its members, so one that gets a new key does not compile before it is compared here.
  void Compare(const NodeConfig& a, const NodeConfig& b) {
    const auto& [cluster, rails, tenancy, bgp, numbers, ovs, frr, api, metrics, kubernetes, frontend, bursts,
                 topology, rates] = a;
    const auto& [name, aliases] = cluster;
    Key("cluster", Takes::kAtOnce, name, b.cluster.name);
    Key("cluster_aliases", Takes::kAtOnce, aliases, b.cluster.aliases);
    Rails(rails, b.rails);
    Of(tenancy, b.tenancy);
    Of(bgp, b.bgp);
    Of(numbers, b.pods);
    Of(ovs, b.ovs);
    Of(api, b.api);
    const auto& [listen, pods] = metrics;
    Key("metrics.listen", Takes::kAtOnce, listen, b.metrics.listen);
    Key("metrics.pods", Takes::kAtOnce, pods, b.metrics.pods);
    Of(kubernetes, b.kubernetes);
    Of(bursts, b.bursts);
    Of(frontend, b.frontend);
    Of(topology, b.topology);
    Key("rates", Takes::kAtOnce, rates, b.rates);
    const auto& [run_dir] = frr;
    Key("frr.run_dir", Takes::kRestart, run_dir, b.frr.run_dir);
  }

  std::vector<Change> Take() { return std::move(changes_); }

 private:
  static std::vector<std::pair<std::string, std::string>> Pairs(const std::vector<DeviceEntry>& devices) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& [device, representor] : devices) pairs.emplace_back(device, representor);
    return pairs;
  }

  template <class T>
  void Key(std::string key, Takes takes, const T& a, const T& b) {
    if (!(a == b)) changes_.push_back({std::move(key), takes});
  }

  void Rails(const std::vector<Rail>& a, const std::vector<Rail>& b) {
    const auto find = [](const std::vector<Rail>& rails, const std::string& name) -> const Rail* {
      for (const Rail& rail : rails) {
        if (rail.name == name) return &rail;
      }
      return nullptr;
    };
    for (const Rail& rail : a) {
      if (const Rail* now = find(b, rail.name)) {
        Of(rail, *now);
      } else {
        changes_.push_back({"rails[" + rail.name + "]", Takes::kRestart});
      }
    }
    for (const Rail& rail : b) {
      if (find(a, rail.name) == nullptr) changes_.push_back({"rails[" + rail.name + "]", Takes::kAtOnce});
    }
  }

  void Of(const Rail& a, const Rail& b) {
    const auto& [name, index, pf, bridge, mtu, devices, manage_sriov, num_vfs, flow_steering, accept, pods,
                 lossless, place] = a;
    const std::string rail = "rails[" + name + "].";
    Key(rail + "index", Takes::kRestart, index, b.index);
    Key(rail + "pf", Takes::kRestart, pf, b.pf);
    Key(rail + "bridge", Takes::kRestart, bridge, b.bridge);
    Key(rail + "mtu", Takes::kRestart, mtu, b.mtu);
    Key(rail + "devices", Takes::kAtOnce, Pairs(devices), Pairs(b.devices));
    Key(rail + "manage_sriov", Takes::kRestart, manage_sriov, b.manage_sriov);
    Key(rail + "num_vfs", Takes::kRestart, num_vfs, b.num_vfs);
    Key(rail + "flow_steering_mode", Takes::kRestart, flow_steering, b.flow_steering);
    Key(rail + "accept", Takes::kAtOnce, accept, b.accept);
    Key(rail + "pods", Takes::kAtOnce, pods, b.pods);
    Key(rail + "lossless", Takes::kAtOnce, lossless, b.lossless);
    Key(rail + "plane", Takes::kAtOnce, place, b.place);  // what NCCL is told; no packet goes by it
  }

  void Of(const Tenancy& a, const Tenancy& b) {
    const auto& [mode, tenants, cross_rail, vlans] = a;
    Key("tenancy.mode", Takes::kRestart, mode, b.mode);
    Key("tenancy.tenants", Takes::kAtOnce, tenants, b.tenants);
    Key("tenancy.cross_rail", Takes::kAtOnce, cross_rail, b.cross_rail);
    Key("tenancy.vlans", Takes::kAtOnce, vlans, b.vlans);
  }

  void Of(const Bgp& a, const Bgp& b) {
    const auto& [manage, asn, router_id, community_asn, bmp_port, max_prefixes] = a;
    Key("bgp.manage", Takes::kRestart, manage, b.manage);
    Key("bgp.asn", Takes::kRestart, asn, b.asn);
    Key("bgp.router_id", Takes::kRestart, router_id, b.router_id);
    Key("bgp.community_asn", Takes::kRestart, community_asn, b.community_asn);
    Key("bgp.bmp_port", Takes::kRestart, bmp_port, b.bmp_port);
    Key("bgp.max_prefixes", Takes::kAtOnce, max_prefixes, b.max_prefixes);
  }

  // Pods that run keep what their ADD has recorded.
  void Of(const Pods& a, const Pods& b) {
    const auto& [first_table, first_rule, ipam] = a;
    Key("pods.ipam", Takes::kAtOnce, ipam, b.ipam);
    Key("pods.first_table", Takes::kAtOnce, first_table, b.first_table);
    Key("pods.first_rule", Takes::kAtOnce, first_rule, b.first_rule);
  }

  void Of(const Ovs& a, const Ovs& b) {
    const auto& [db_socket, run_dir, manage_bridges, remove_foreign_flows, datapath] = a;
    Key("ovs.db", Takes::kRestart, db_socket, b.db_socket);
    Key("ovs.run_dir", Takes::kRestart, run_dir, b.run_dir);
    Key("ovs.manage_bridges", Takes::kRestart, manage_bridges, b.manage_bridges);
    Key("ovs.remove_foreign_flows", Takes::kAtOnce, remove_foreign_flows, b.remove_foreign_flows);
    Key("ovs.datapath", Takes::kRestart, datapath, b.datapath);
  }

  void Of(const Api& a, const Api& b) {
    const auto& [listen, cert_file, key_file, client_ca_file] = a;
    Key("api.listen", Takes::kAtOnce, listen, b.listen);
    Key("api.cert_file", Takes::kAtOnce, cert_file, b.cert_file);
    Key("api.key_file", Takes::kAtOnce, key_file, b.key_file);
    Key("api.client_ca_file", Takes::kAtOnce, client_ca_file, b.client_ca_file);
  }

  void Of(const Kubernetes& a, const Kubernetes& b) {
    const auto& [tenants, tenant_label, report, api] = a;
    Key("kubernetes.tenants", Takes::kAtOnce, tenants, b.tenants);
    Key("kubernetes.tenant_label", Takes::kAtOnce, tenant_label, b.tenant_label);
    Key("kubernetes.report", Takes::kAtOnce, report, b.report);
    Key("kubernetes.api", Takes::kAtOnce, api, b.api);
  }

  void Of(const Bursts& a, const Bursts& b) {
    const auto& [every_ms, line_rate_mbit] = a;
    Key("bursts.every_ms", Takes::kAtOnce, every_ms, b.every_ms);
    Key("bursts.line_rate_mbit", Takes::kAtOnce, line_rate_mbit, b.line_rate_mbit);
  }

  // Without a restart of the process: raild removes what the section no longer names.
  void Of(const Frontend& a, const Frontend& b) {
    const auto& [links, addresses, accept, bfd] = a;
    Key("frontend.links", Takes::kAtOnce, links, b.links);
    Key("frontend.addresses", Takes::kAtOnce, addresses, b.addresses);
    Key("frontend.accept", Takes::kAtOnce, accept, b.accept);
    Key("frontend.bfd", Takes::kAtOnce, bfd, b.bfd);
  }

  void Of(const Topology& a, const Topology& b) {
    const auto& [unit, labels] = a;
    Key("topology.unit", Takes::kAtOnce, unit, b.unit);
    Key("topology.labels", Takes::kAtOnce, labels, b.labels);
  }

  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> Changes(const NodeConfig& runs, const NodeConfig& now) {
  Comparison comparison;
  comparison.Compare(runs, now);
  return comparison.Take();
}

std::string Keys(const std::vector<Change>& changes) {
  return Join(changes, ", ", &Change::key);
}

}  // namespace rail::config
