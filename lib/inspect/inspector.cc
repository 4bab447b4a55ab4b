#include "lib/inspect/inspector.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "lib/engine/foreign_rules.h"

namespace rail::inspect {
namespace {

constexpr auto kAnswerTime = std::chrono::seconds(5);

Result<std::vector<const engine::AttachmentView*>> Find(const engine::NodeView& view,
                                                        const Selector& selector) {
  std::vector<const engine::AttachmentView*> found = Select(view, selector);
  if (found.empty() && !selector.empty())
    return Fail(Code::kNotFound, "there is no " + ToText(selector) + " on this node (" + view.hostname + ")");
  return found;
}

FileFacts LookAtFile(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {true, info.st_mode & 07777U};
}

std::string Sysctl(const std::string& link, const char* key) {
  return netns::ReadSysctl("net/ipv6/conf/" + link + "/" + key).value_or("");
}

LinkFacts FactsOf(const std::vector<netlink::Link>& links, const std::vector<netlink::Address>& addresses,
                  const std::string& name) {
  const auto link = std::ranges::find(links, name, &netlink::Link::name);
  if (link == links.end()) return {};
  LinkFacts facts{.there = true, .up = link->up, .carrier = link->carrier, .mtu = link->mtu};
  for (const netlink::Address& each : addresses) {
    if (each.link != link->index) continue;
    if (each.prefix.address.is_v6() && each.prefix.address.is_link_local()) {
      facts.has_link_local = true;
    } else {
      facts.addresses.push_back(each.prefix.ToString());
    }
  }
  facts.disable_ipv6 = Sysctl(name, "disable_ipv6");
  facts.accept_ra = Sysctl(name, "accept_ra");
  return facts;
}

std::optional<Error> ErrorOf(const Status& status) {
  if (status) return std::nullopt;
  return status.error();
}

Status LookAtSwitch(NodeFacts& facts, engine::Connections& connections) {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  RAIL_ASSIGN(facts.other_config, db->OtherConfig(connections.CallDeadline()));
  for (const config::Rail& rail : facts.config.rails) {
    RAIL_ASSIGN(facts.rails[rail.name].bridge, db->FindBridge(rail.bridge, connections.CallDeadline()));
  }
  return {};
}

// Asks the switch, so that it is known also where no raild runs that follows it.
Status LookAtForeignFlows(NodeFacts& facts, engine::Connections& connections) {
  for (const config::Rail& rail : facts.config.rails) {
    RailFacts& seen = facts.rails[rail.name];
    if (!seen.bridge) continue;
    RAIL_ASSIGN(ovs::OpenFlow * bridge, connections.OpenFlow(rail.bridge));
    engine::ForeignRules foreign;
    RAIL_TRY(
        foreign.Look(*bridge, engine::ForeignRules::How::kCount, [&] { return connections.CallDeadline(); }));
    seen.foreign_flows = foreign.count();
    seen.foreign_examples = foreign.examples();
  }
  return {};
}

Status LookAtDatapath(NodeFacts& facts, engine::Connections& connections, Deadline deadline) {
  RAIL_ASSIGN(const std::string counts, connections.AskVswitchd("upcall/show", {}, deadline));
  facts.datapaths = ovs::ParseUpcallShow(counts);
  const auto flows = ReadMegaflows(facts.config, connections, deadline);
  if (!flows) return {};  // the datapath of this type may not exist yet
  for (const Megaflow& flow : *flows) {
    const bool of_a_pod = std::ranges::any_of(facts.view.attachments, [&](const engine::AttachmentView& a) {
      const std::string& port = a.attachment.representor;
      return !port.empty() && (flow.in_port == port || flow.outputs.contains(port));
    });
    if (!of_a_pod) continue;
    ++facts.megaflows;
    if (flow.actions == "drop") ++facts.dropping_megaflows[flow.in_port];
    if (flow.place != Place::kHardware) ++facts.megaflows_in_software;
  }
  return {};
}

Status LookAtLinks(NodeFacts& facts, engine::Connections& connections) {
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  RAIL_ASSIGN(const std::vector<netlink::Link> links, host->ListLinks());
  RAIL_ASSIGN(const std::vector<netlink::Address> addresses, host->ListAddresses(0));
  for (const config::Rail& rail : facts.config.rails) {
    RailFacts& seen = facts.rails[rail.name];
    seen.uplink = FactsOf(links, addresses, rail.pf);
    seen.local = FactsOf(links, addresses, rail.bridge);
    for (const engine::AttachmentView& a : facts.view.attachments) {
      const std::string& port = a.attachment.representor;
      if (a.attachment.rail == rail.name && !port.empty())
        seen.representors[port] = FactsOf(links, addresses, port);
    }
  }
  return {};
}

Status LookAtBgpd(engine::Connections& connections) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  RAIL_TRY(bgp->Sessions(connections.CallDeadline()));
  return {};
}

}  // namespace

Result<Flows> Inspector::ListFlows(const Selector& selector, const FlowsPage& page) const {
  const auto view = views_.Current();
  std::vector<const engine::AttachmentView*> found;
  if (page.after == 0) {
    RAIL_ASSIGN(found, Find(*view, selector));
  } else {
    found =
        Select(*view, selector);  // all may have gone since the page before, which makes this one the last
  }
  const size_t total = found.size();
  const auto id = [](const engine::AttachmentView* each) { return each->attachment.id; };
  std::ranges::sort(found, {}, id);
  found.erase(found.begin(), std::ranges::upper_bound(found, page.after, {}, id));
  const bool more = found.size() > page.size;
  if (more) found.resize(page.size);
  engine::Connections connections(deps_.openers(config_), After(kAnswerTime));
  RAIL_ASSIGN(Flows flows, ReadFlows(found, config_, connections));
  flows.total = total;
  if (more) flows.next = id(found.back());
  return flows;
}

Result<std::vector<Checked>> Inspector::Check(const Selector& selector) const {
  const auto view = views_.Current();
  RAIL_ASSIGN(const auto found, Find(*view, selector));
  RAIL_ASSIGN(const std::unique_ptr<state::Store> store, deps_.open_store());
  engine::Connections connections(deps_.openers(config_), After(kAnswerTime));
  engine::Node node{config_, *store, connections};
  return CheckAll(found, node, deps_.tenants);
}

Result<Answer> Inspector::Trace(const Question& question) const {
  const auto view = views_.Current();
  engine::Connections connections(deps_.openers(config_), After(kAnswerTime));
  const TraceFacts facts{.view = *view,
                         .config = config_,
                         .ports = [&](const std::string& bridge) -> Result<std::map<std::string, int64_t>> {
                           RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
                           RAIL_ASSIGN(const auto found, db->FindBridge(bridge, connections.CallDeadline()));
                           if (!found)
                             return Fail(Code::kTransient,
                                         "Open vSwitch has no bridge " + bridge + ": see `railctl doctor`");
                           std::map<std::string, int64_t> ports;
                           for (const ovs::Port& port : found->ports) ports[port.name] = port.ofport;
                           return ports;
                         },
                         .link = [&](const std::string& name) -> Result<netlink::Link> {
                           RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
                           return host->GetLink(name);
                         }};
  return inspect::Trace(question, facts, [&](const std::string& bridge, const std::string& flow) {
    return connections.AskVswitchd("ofproto/trace", {bridge, flow}, connections.CallDeadline());
  });
}

std::vector<Finding> Inspector::Doctor() const {
  return Diagnose(Gather());
}

SwitchSample Inspector::Sample(Clock::duration counts, Clock::duration flows) const {
  engine::Connections connections(deps_.openers(config_), After(counts));
  return TakeSample(*views_.Current(), config_, connections, flows);
}

NodeFacts Inspector::Gather() const {
  NodeFacts facts{.config = config_, .view = *views_.Current(), .now_ms = now_ms_()};
  engine::Connections connections(deps_.openers(config_), After(kAnswerTime));
  facts.ovsdb_down = ErrorOf(LookAtSwitch(facts, connections));
  facts.vswitchd_down = ErrorOf(LookAtDatapath(facts, connections, connections.CallDeadline()));
  if (!facts.vswitchd_down) facts.vswitchd_down = ErrorOf(LookAtForeignFlows(facts, connections));
  facts.links_unknown = ErrorOf(LookAtLinks(facts, connections));
  facts.bgpd_down = ErrorOf(LookAtBgpd(connections));
  const engine::Openers openers = deps_.openers(config_);
  if (openers.look_at_nic) {
    for (const config::Rail& rail : config_.rails) {
      facts.rails[rail.name].nic = openers.look_at_nic(rail).value_or(std::vector<sriov::NicState>());
    }
  }
  if (openers.rdma_guids) facts.rdma_guids = openers.rdma_guids();

  if (config_.kubernetes.tenants) facts.tenants = deps_.tenants();
  if (!facts.view.tenant_list.problem.empty()) {
    facts.tenants_stale =
        std::chrono::floor<std::chrono::seconds>(Clock::now() - facts.view.tenant_list.problem_since);
  }
  facts.record_file = LookAtFile(paths_.state_file);
  if (const auto store = deps_.open_store(); !store) {
    facts.record_error = store.error();
  } else if (const auto listed = (*store)->List(); !listed) {
    facts.record_error = listed.error();
  }
  struct statvfs space{};
  if (::statvfs(paths_.state_file.c_str(), &space) == 0) {
    facts.record_free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
  }
  if (!config_.api.listen.empty()) {
    for (const auto& [path, purpose] :
         {std::pair(config_.api.cert_file, "the API's certificate"),
          std::pair(config_.api.client_ca_file, "the authority of the API's clients")}) {
      facts.certificates.push_back({path, purpose, ReadValidity(path)});
    }
  }
  return facts;
}

}  // namespace rail::inspect
