#include "lib/inspect/inspector.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <memory>

#include "lib/engine/attach/tenant_vlans.h"
#include "lib/engine/repair/foreign_rules.h"
#include "lib/engine/repair/frontend.h"
#include "lib/inspect/doctor/subjects.h"
#include "lib/inspect/inside.h"
#include "lib/inspect/qos.h"

namespace rail::inspect {
namespace {

constexpr auto kPodsTime = std::chrono::seconds(2);  // a look into a pod takes about a millisecond
constexpr auto kKubeletTime = std::chrono::seconds(2);
constexpr auto kZebraTime = std::chrono::seconds(1);
// A leaf's kernel answers within a millisecond, its control plane's rate limit may take two of three requests.
constexpr auto kEchoTime = std::chrono::milliseconds(600);

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

// A part of the node, which the doctor asks beside the others. `look` fills in facts of its own; `take` takes them over, also those that it
// had before it failed. `failed` says so.
struct Part {
  std::string name;
  std::function<Status(NodeFacts& seen)> look;
  void (*take)(NodeFacts& facts, NodeFacts& seen);
  std::function<void(NodeFacts& facts, const Error& error)> failed;
};

// Of the node, and of each rail.
template <auto... members>
void Take(NodeFacts& facts, NodeFacts& seen) {
  const auto take = [&](auto member) {
    if constexpr (requires { facts.*member; }) {
      facts.*member = std::move(seen.*member);
    } else {
      for (auto& [name, rail] : seen.rails) facts.rails[name].*member = std::move(rail.*member);
    }
  };
  (take(members), ...);
}

template <auto member>
void Down(NodeFacts& facts, const Error& error) {
  facts.*member = error;
}

// What it breaks is found, and not that it does not answer.
void NoFinding(NodeFacts& /*facts*/, const Error& /*error*/) {}

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
    const auto bridge = connections.OpenFlow(rail.bridge);
    if (!bridge) continue;  // a bridge that is not there has no rules
    engine::ForeignRules foreign;
    RAIL_TRY(foreign.Look(**bridge, engine::ForeignRules::How::kCount,
                          [&] { return connections.CallDeadline(); }));
    seen.foreign_flows = foreign.count();
    seen.foreign_examples = foreign.examples();
  }
  return {};
}

Status LookAtDatapath(NodeFacts& facts, engine::Connections& connections) {
  const Deadline deadline = connections.CallDeadline();
  RAIL_ASSIGN(const std::string counts, connections.AskVswitchd("upcall/show", {}, deadline));
  facts.datapaths = ovs::ParseUpcallShow(counts);
  const auto flows = ReadMegaflows(facts.config, connections, deadline);
  if (!flows) return LookAtForeignFlows(facts, connections);  // the datapath of this type may not exist yet
  for (const Megaflow& flow : *flows) {
    facts.masks.Add(flow);
    const bool of_a_pod = std::ranges::any_of(facts.view.attachments, [&](const engine::AttachmentView& a) {
      const std::string& port = a.attachment.representor;
      return !port.empty() && (flow.in_port == port || flow.outputs.contains(port));
    });
    if (!of_a_pod) continue;
    ++facts.megaflows;
    if (flow.actions == "drop") ++facts.dropping_megaflows[flow.in_port];
    if (flow.place != v1::Megaflow::HARDWARE) ++facts.megaflows_in_software;
  }
  return LookAtForeignFlows(facts, connections);
}

Status LookAtLinks(NodeFacts& facts, engine::Connections& connections) {
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  RAIL_ASSIGN(const std::vector<netlink::Link> links, host->ListLinks());
  RAIL_ASSIGN(const std::vector<netlink::Address> addresses, host->ListAddresses(0));
  facts.vrfs.emplace();
  for (const netlink::Link& link : links) {
    if (link.kind == "vrf") facts.vrfs->insert(link.name);
  }
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

Status LookAtBgpd(NodeFacts& facts, engine::Connections& connections) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  RAIL_ASSIGN(facts.sessions, bgp->Sessions(connections.CallDeadline()));
  std::map<std::string, frr::Session> by_interface;
  for (const frr::Session& session : facts.sessions) by_interface[session.interface] = session;
  RAIL_ASSIGN(facts.bgp_identifier, bgp->Identifier(connections.CallDeadline()));
  facts.frontend = engine::LookAtFrontend(facts.config, connections, by_interface);
  return {};
}

Status LookAtZebra(NodeFacts& facts, const engine::Openers& openers) {
  if (openers.zebra) {
    RAIL_ASSIGN(facts.frr_version, openers.zebra(After(kZebraTime)));
  }
  return {};
}

Status LookAtNics(NodeFacts& facts, const engine::Openers& openers) {
  if (openers.look_at_nic) {
    for (const config::Rail& rail : facts.config.rails)
      facts.rails[rail.name].nic = openers.look_at_nic(rail).value_or(std::vector<sriov::NicState>());
  }
  if (openers.rdma_guids) facts.rdma_guids = openers.rdma_guids();
  return {};
}

Status LookAtRecord(NodeFacts& facts, const engine::Deps& deps) {
  facts.record_file = LookAtFile(facts.record_path);
  struct statvfs space{};
  if (::statvfs(facts.record_path.c_str(), &space) == 0)
    facts.record_free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
  RAIL_ASSIGN(const auto store, deps.open_store());
  RAIL_TRY(store->List());
  return {};
}

// Asks the leaves whose sessions are up for echoes of a rail's full size.
void LookAtLeaves(NodeFacts& facts, const engine::Openers& openers) {
  std::vector<frr::EchoPeer> peers;
  std::vector<LeafFacts*> leaves;
  for (const config::Rail& rail : facts.config.rails) {
    // Mode `vrf`: in one of its VLANs, which share the wire.
    const auto session = std::ranges::find_if(facts.sessions, [&](const frr::Session& each) {
      return each.interface == rail.bridge ||
             (each.established() && engine::VlanOfPortName(rail, each.interface));
    });
    RailFacts& seen = facts.rails[rail.name];
    const uint32_t size = std::min(rail.mtu, seen.local.mtu);  // the doctor compares the two
    if (session == facts.sessions.end() || !session->established() || !session->peer ||
        size <= frr::kSmallEcho)
      continue;
    seen.leaf = {.full_size = size, .small_size = frr::kSmallEcho};
    peers.push_back({session->interface, *session->peer, size});
    leaves.push_back(&seen.leaf);
  }
  if (!openers.echo || peers.empty()) return;
  const auto answers = openers.echo(peers, After(kEchoTime));
  for (size_t i = 0; answers && i < answers->size(); ++i) {
    leaves[i]->small = (*answers)[i].small;
    leaves[i]->full = (*answers)[i].full;
  }
}

// A firewall that cannot be read accuses nobody.
void LookAtFirewall(NodeFacts& facts, const engine::Openers& openers) {
  const bool down =
      std::ranges::any_of(facts.sessions, [](const frr::Session& s) { return !s.established(); });
  if (openers.drop_rules && down)
    facts.drop_rules = openers.drop_rules().value_or(std::vector<netlink::DropRule>());
}

}  // namespace

Result<v1::ListFlowsResponse> Inspector::ListFlows(const Selector& selector, const FlowsPage& page) const {
  const auto view = views_.Current();
  std::vector<const engine::AttachmentView*> found;
  if (page.after == 0) {
    RAIL_ASSIGN(found, Find(*view, selector));
  } else {
    found = Select(*view, selector);  // maybe none: all have gone since the page before
  }
  const size_t total = found.size();
  const auto id = [](const engine::AttachmentView* each) { return each->attachment.id; };
  std::ranges::sort(found, {}, id);
  found.erase(found.begin(), std::ranges::upper_bound(found, page.after, {}, id));
  const bool more = found.size() > page.size;
  if (more) found.resize(page.size);
  engine::Connections connections(deps_.openers(config_), After(answer_time_));
  RAIL_ASSIGN(v1::ListFlowsResponse flows, ReadFlows(found, config_, connections));
  flows.set_total(static_cast<uint32_t>(total));
  if (more) flows.set_next_page_token(std::to_string(id(found.back())));
  return flows;
}

// ovsdb-server, ovs-vswitchd, bgpd: all three may hang, and the answer still comes before railctl gives up after 10 s.
engine::Connections Inspector::OneAfterAnother() const {
  return {deps_.openers(config_), After(answer_time_ * 2), answer_time_ / 2};
}

Result<v1::CheckResponse> Inspector::Check(const Selector& selector) const {
  const auto view = views_.Current();
  RAIL_ASSIGN(const auto found, Find(*view, selector));
  RAIL_ASSIGN(const std::unique_ptr<state::Store> store, deps_.open_store());
  engine::Connections connections = OneAfterAnother();
  engine::Node node{config_, *store, connections};
  return CheckAll(found, node, deps_.tenants);
}

Result<Answer> Inspector::Trace(const Question& question) const {
  const auto view = views_.Current();
  engine::Connections connections = OneAfterAnother();
  const TraceFacts facts{
      .view = *view,
      .config = config_,
      .ports = [&](const std::string& bridge) -> Result<std::map<std::string, int64_t>> {
        RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
        RAIL_ASSIGN(const auto found, db->FindBridge(bridge, connections.CallDeadline()));
        if (!found)
          return Fail(Code::kTransient, "Open vSwitch has no bridge " + bridge + ": see `railctl doctor`");
        std::map<std::string, int64_t> ports;
        for (const ovs::Port& port : found->ports) ports[port.name] = port.ofport;
        return ports;
      },
      .inside = [&](const state::Attachment& pod) -> std::vector<podnet::Deviation> {
        const config::Rail* rail = config_.FindRail(pod.rail);
        if (rail == nullptr) return {};
        // What cannot be looked at is not amiss; the doctor says why.
        return LookInside(connections, *rail, pod, {}).value_or(std::vector<podnet::Deviation>());
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

std::vector<Finding> Inspector::DoctorWithoutRaild(StartFacts start) const {
  auto file = deps_.load_config();
  if (file) {
    NodeFacts facts = Gather();
    facts.start = std::move(start);
    return Diagnose(facts);
  }
  NodeFacts facts{.view = *views_.Current(),
                  .now_ms = now_ms_(),
                  .config_error = file.error(),
                  .start = std::move(start)};
  facts.record_path = paths_.state_file;
  if (const Status looked = LookAtRecord(facts, deps_); !looked) facts.record_error = looked.error();
  return DiagnoseStart(facts);
}

Machinery Inspector::LookAtHardware() const {
  return LookAtMachinery(config_, hardware_, After(kKubeletTime));
}

std::vector<Request> Inspector::Requests() const {
  const Machinery seen = LookAtHardware();
  return RequestsOnRails(seen.pods, seen.machine, *views_.Current());
}

Result<LibsAnswer> Inspector::Libs(const LibsQuestion& question) const {
  return AskLibs(question, *views_.Current(), config_, hardware_, After(kKubeletTime));
}

SwitchSample Inspector::Sample(Clock::duration counts, Clock::duration flows) const {
  engine::Connections connections(deps_.openers(config_), After(counts));
  return TakeSample(*views_.Current(), config_, connections, flows);
}

NodeFacts Inspector::Gather() const {
  NodeFacts facts{.config = config_, .view = *views_.Current(), .now_ms = now_ms_()};
  facts.record_path = paths_.state_file;
  AskParts(facts);
  LookAtLeaves(facts, deps_.openers(config_));
  LookAtFirewall(facts, deps_.openers(config_));
  LookAtSpeeds(facts, paths_.sysfs);

  if (config_.kubernetes.tenants) facts.tenants = deps_.tenants();
  if (!facts.view.tenant_list.problem.empty()) {
    facts.tenants_stale =
        std::chrono::floor<std::chrono::seconds>(Clock::now() - facts.view.tenant_list.problem_since);
  }
  if (const auto file = deps_.load_config(); !file) {
    facts.config_error = file.error();
  } else {
    facts.config_changes = config::Changes(config_, *file);
  }
  if (!config_.api.listen.empty()) {
    for (const auto& [path, purpose] :
         {std::pair(config_.api.cert_file, "the API's certificate"),
          std::pair(config_.api.client_ca_file, "the authority of the API's clients")}) {
      facts.certificates.push_back({path, purpose, ReadValidity(path)});
    }
  }
  if (ports_) facts.ports = ports_();
  return facts;
}

void Inspector::AskParts(NodeFacts& facts) const {
  struct Looked {
    std::shared_ptr<NodeFacts> seen;
    Status status;
  };
  const Deadline until = After(answer_time_);
  // For calls that keep a deadline: so their own words are heard before the answer is due.
  const Deadline calls_until = After(answer_time_ * 9 / 10);
  const auto over = [&](Status (*look)(NodeFacts&, engine::Connections&)) {
    return [look, calls_until, openers = deps_.openers(config_)](NodeFacts& seen) {
      engine::Connections connections(openers, calls_until);  // of one thread at a time
      return look(seen, connections);
    };
  };
  const auto by = [&](Status (*look)(NodeFacts&, const engine::Openers&)) {
    return [look, openers = deps_.openers(config_)](NodeFacts& seen) { return look(seen, openers); };
  };
  const config::Kubelet& kubelet = config_.kubelet;
  const bool libraries = kubelet.libraries && (kubelet.device_plugin || kubelet.dra);
  using Node = NodeFacts;
  using Rail = RailFacts;
  const std::vector<Part> parts = {
      {"ovsdb-server", over(LookAtSwitch), Take<&Node::other_config, &Rail::bridge>, Down<&Node::ovsdb_down>},
      {"ovs-vswitchd", over(LookAtDatapath),
       Take<&Node::datapaths, &Node::megaflows, &Node::megaflows_in_software, &Node::dropping_megaflows,
            &Node::masks, &Rail::foreign_flows, &Rail::foreign_examples>,
       Down<&Node::vswitchd_down>},
      {"kernel", over(LookAtLinks), Take<&Node::vrfs, &Rail::uplink, &Rail::local, &Rail::representors>,
       Down<&Node::links_unknown>},
      {"bgpd", over(LookAtBgpd), Take<&Node::sessions, &Node::bgp_identifier, &Node::frontend>,
       Down<&Node::bgpd_down>},
      {"zebra", by(LookAtZebra), Take<&Node::frr_version>, Down<&Node::zebra_down>},
      {"NICs", by(LookAtNics), Take<&Rail::nic, &Node::rdma_guids>, NoFinding},
      {"priorities of uplinks", by(LookAtLossless), Take<&Rail::lossless>, LosslessUnknown},
      // Rates that cannot be read differ from nothing: raild cannot read them either, and says so (part-failing).
      {"rates", by(LookAtRates), Take<&Node::rates_differ>, NoFinding},
      {"pods",
       [deps = deps_,
        libraries = libraries ? hardware_.libraries : std::string()](NodeFacts& seen) -> Status {
         LookIntoPods(seen, deps, libraries, After(kPodsTime));
         return {};
       },
       Take<&Node::pods>,
       [](NodeFacts& node, const Error& error) {
         node.pods = {.not_looked = node.view.attachments.size(), .error = error};
       }},
      {"PCI devices",
       [config = config_, hardware = hardware_](NodeFacts& seen) -> Status {
         const Deadline end = After(kKubeletTime);
         seen.machinery = LookAtMachinery(config, hardware, end);
         if (hardware.allocatable)
           seen.machinery.allocatable = hardware.allocatable(end).value_or(pcie::ResourceDevices());
         return {};
       },
       Take<&Node::machinery>, NoFinding},
      {"state.db", [deps = deps_](NodeFacts& seen) { return LookAtRecord(seen, deps); },
       Take<&Node::record_file, &Node::record_free_bytes>, Down<&Node::record_error>},
  };
  std::vector<SideBySide::Answer<Looked>> answers;
  for (const Part& part : parts) {
    auto seen = std::make_shared<NodeFacts>(facts);
    answers.push_back(parts_.Ask<Looked>(part.name, until, [look = part.look, seen]() -> Result<Looked> {
      return Looked{seen, look(*seen)};
    }));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const Result<Looked> looked = answers[i].Wait(until);
    if (looked) parts[i].take(facts, *looked->seen);
    const Status status = looked ? looked->status : tl::make_unexpected(looked.error());
    if (!status) parts[i].failed(facts, status.error());
  }
}

}  // namespace rail::inspect
