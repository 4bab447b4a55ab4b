#include "lib/engine/testing/gate.h"

namespace rail::engine::testing {

const char* Name(Edge edge) {
  switch (edge) {
    case Edge::kOvsdb:
      return "OVSDB";
    case Edge::kOpenFlow:
      return "OpenFlow";
    case Edge::kBgp:
      return "bgpd";
    case Edge::kNetlink:
      return "netlink";
    case Edge::kDevices:
      return "device";
    case Edge::kPods:
      return "pod";
    case Edge::kIpam:
      return "IPAM";
    case Edge::kState:
      return "state.db";
  }
  return "?";
}

void Gate::FailCall(Edge edge, int call, Error error) {
  fault_ = Fault{edge, call, std::move(error)};
  failed_ = false;
}

Status Gate::Write() const {
  if (disk == Disk::kGood) return {};
  if (disk == Disk::kFull) return Fail(Code::kTransient, "state.db: the disk is full");
  return Fail(Code::kPermission, "state.db: cannot be written");
}

Status Gate::Open(Edge edge) const {
  if (down.contains(edge)) return Fail(Code::kTransient, std::string(Name(edge)) + " is down");
  return {};
}

Status Gate::Call(Edge edge, std::string_view call) {
  if (before) before(edge, call);
  RAIL_TRY(Open(edge));
  if (!fault_ || fault_->edge != edge || --fault_->call > 0) return {};
  failed_ = true;
  const Error error = fault_->error;
  fault_.reset();
  return tl::make_unexpected(error);
}

namespace {

class Ovsdb : public ovs::Ovsdb {
 public:
  Ovsdb(Gate& gate, ovs::Ovsdb& inner) : gate_(gate), inner_(inner) {}
  Result<ovs::Bridge> EnsureBridge(const ovs::BridgeSpec& spec, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "EnsureBridge"));
    return inner_.EnsureBridge(spec, deadline);
  }
  Result<std::optional<ovs::Bridge>> FindBridge(const std::string& name, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "FindBridge"));
    return inner_.FindBridge(name, deadline);
  }
  Result<ovs::Port> AddPort(const ovs::PortSpec& spec, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "AddPort"));
    return inner_.AddPort(spec, deadline);
  }
  Status DeletePort(const std::string& bridge, const std::string& name, const ovs::ExternalIds& owner,
                    Wait wait, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "DeletePort"));
    return inner_.DeletePort(bridge, name, owner, wait, deadline);
  }
  Result<std::optional<ovs::Port>> FindPort(const std::string& name, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "FindPort"));
    return inner_.FindPort(name, deadline);
  }
  Status SetExternalIds(const std::string& port, const ovs::ExternalIds& ids, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "SetExternalIds"));
    return inner_.SetExternalIds(port, ids, deadline);
  }
  Status RemoveExternalIds(const std::string& port, const std::vector<std::string>& keys,
                           Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "RemoveExternalIds"));
    return inner_.RemoveExternalIds(port, keys, deadline);
  }
  Result<ovs::ExternalIds> OtherConfig(Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOvsdb, "OtherConfig"));
    return inner_.OtherConfig(deadline);
  }

 private:
  Gate& gate_;
  ovs::Ovsdb& inner_;
};

class OpenFlow : public ovs::OpenFlow {
 public:
  OpenFlow(Gate& gate, ovs::OpenFlow& inner) : gate_(gate), inner_(inner) {}
  Status ForEach(ovs::CookieMatch which, const EachRule& each, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOpenFlow, "Dump"));
    return inner_.ForEach(which, each, deadline);
  }
  Result<uint64_t> Count(ovs::CookieMatch which, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOpenFlow, "Count"));
    return inner_.Count(which, deadline);
  }
  Result<ovs::RuleChanges> Changes() override {
    RAIL_TRY(gate_.Call(Edge::kOpenFlow, "Changes"));
    return inner_.Changes();
  }
  Status Commit(const ovs::Change& change, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kOpenFlow, "Commit"));
    return inner_.Commit(change, deadline);
  }

 private:
  Gate& gate_;
  ovs::OpenFlow& inner_;
};

class Bgp : public frr::Bgp {
 public:
  Bgp(Gate& gate, frr::Bgp& inner) : gate_(gate), inner_(inner) {}
  Status AnnounceAll(const std::vector<frr::Announcement>& announcements, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "AnnounceAll"));
    return inner_.AnnounceAll(announcements, deadline);
  }
  Status WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "WithdrawAll"));
    return inner_.WithdrawAll(addresses, deadline);
  }
  Result<std::vector<frr::Announcement>> Announced(Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "Announced"));
    return inner_.Announced(deadline);
  }
  Result<bool> InAdjRibOut(const IpAddress& address, const std::string& interface,
                           Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "InAdjRibOut"));
    return inner_.InAdjRibOut(address, interface, deadline);
  }
  Result<std::string> SessionState(const std::string& interface, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "SessionState"));
    return inner_.SessionState(interface, deadline);
  }
  Result<std::vector<frr::Session>> Sessions(Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "Sessions"));
    return inner_.Sessions(deadline);
  }
  Result<uint64_t> TableVersion(Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "TableVersion"));
    return inner_.TableVersion(deadline);
  }
  Status ResetSession(const std::string& interface, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "ResetSession"));
    return inner_.ResetSession(interface, deadline);
  }
  Result<bool> EnsureFeed(const std::vector<frr::RailPeer>& rails, uint16_t port, bool manage,
                          Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "EnsureFeed"));
    return inner_.EnsureFeed(rails, port, manage, deadline);
  }
  Result<std::vector<std::string>> EnsureBase(const frr::BaseConfig& config, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kBgp, "EnsureBase"));
    return inner_.EnsureBase(config, deadline);
  }

 private:
  Gate& gate_;
  frr::Bgp& inner_;
};

class Links : public netlink::Netlink {
 public:
  Links(Gate& gate, netlink::Netlink& inner) : gate_(gate), inner_(inner) {}
  Result<netlink::Link> GetLink(std::string_view name) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "GetLink"));
    return inner_.GetLink(name);
  }
  Result<std::vector<netlink::Link>> ListLinks() override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "ListLinks"));
    return inner_.ListLinks();
  }
  Status SetUp(int link) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "SetUp"));
    return inner_.SetUp(link);
  }
  Status SetDown(int link) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "SetDown"));
    return inner_.SetDown(link);
  }
  Status SetMtu(int link, uint32_t mtu) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "SetMtu"));
    return inner_.SetMtu(link, mtu);
  }
  Status SetMac(int link, const MacAddress& mac) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "SetMac"));
    return inner_.SetMac(link, mac);
  }
  Status Rename(int link, std::string_view name) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "Rename"));
    return inner_.Rename(link, name);
  }
  Status MoveLink(int link, int netns_fd, std::string_view name) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "MoveLink"));
    return inner_.MoveLink(link, netns_fd, name);
  }
  Status AddAddress(const netlink::Address& address) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "AddAddress"));
    return inner_.AddAddress(address);
  }
  Status DeleteAddress(const netlink::Address& address) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "DeleteAddress"));
    return inner_.DeleteAddress(address);
  }
  Result<std::vector<netlink::Address>> ListAddresses(int link) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "ListAddresses"));
    return inner_.ListAddresses(link);
  }
  Status AddRoute(const netlink::Route& route) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "AddRoute"));
    return inner_.AddRoute(route);
  }
  Status DeleteRoute(const netlink::Route& route) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "DeleteRoute"));
    return inner_.DeleteRoute(route);
  }
  Result<std::vector<netlink::Route>> ListRoutes(uint32_t table) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "ListRoutes"));
    return inner_.ListRoutes(table);
  }
  Status AddRule(const netlink::PolicyRule& rule) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "AddRule"));
    return inner_.AddRule(rule);
  }
  Status DeleteRule(const netlink::PolicyRule& rule) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "DeleteRule"));
    return inner_.DeleteRule(rule);
  }
  Result<std::vector<netlink::PolicyRule>> ListRules() override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "ListRules"));
    return inner_.ListRules();
  }
  Status SetPermanentNeighbour(int link, const IpAddress& address, const MacAddress& mac) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "SetPermanentNeighbour"));
    return inner_.SetPermanentNeighbour(link, address, mac);
  }
  Result<std::vector<netlink::Neighbour>> ListNeighbours(int link) override {
    RAIL_TRY(gate_.Call(Edge::kNetlink, "ListNeighbours"));
    return inner_.ListNeighbours(link);
  }

 private:
  Gate& gate_;
  netlink::Netlink& inner_;
};

class Pods : public podnet::PodNet {
 public:
  Pods(Gate& gate, podnet::PodNet& inner) : gate_(gate), inner_(inner) {}
  Result<bool> HasLink(const netns::Netns& pod, const std::string& name) override {
    RAIL_TRY(gate_.Call(Edge::kPods, "HasLink"));
    return inner_.HasLink(pod, name);
  }
  Status Configure(const netns::Netns& pod, const podnet::Plan& plan) override {
    RAIL_TRY(gate_.Call(Edge::kPods, "Configure"));
    return inner_.Configure(pod, plan);
  }
  Status Deconfigure(const netns::Netns& pod, const podnet::Plan& plan) override {
    RAIL_TRY(gate_.Call(Edge::kPods, "Deconfigure"));
    return inner_.Deconfigure(pod, plan);
  }
  Result<std::vector<std::string>> Verify(const netns::Netns& pod, const podnet::Plan& plan) override {
    RAIL_TRY(gate_.Call(Edge::kPods, "Verify"));
    return inner_.Verify(pod, plan);
  }

 private:
  Gate& gate_;
  podnet::PodNet& inner_;
};

class Ipam : public cni::Ipam {
 public:
  Ipam(Gate& gate, cni::Ipam& inner) : gate_(gate), inner_(inner) {}
  cni::Outcome<cni::AddResult> Add(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kIpam, "Add"));
    return inner_.Add(request, deadline);
  }
  cni::Outcome<void> Del(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kIpam, "Del"));
    return inner_.Del(request, deadline);
  }
  cni::Outcome<void> Check(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kIpam, "Check"));
    return inner_.Check(request, deadline);
  }
  cni::Outcome<void> Forward(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(gate_.Call(Edge::kIpam, "Forward"));
    return inner_.Forward(request, deadline);
  }

 private:
  Gate& gate_;
  cni::Ipam& inner_;
};

class Record : public state::Store {
 public:
  Record(Gate& gate, std::unique_ptr<state::Store> inner) : gate_(gate), inner_(std::move(inner)) {}
  Result<state::Attachment> Create(const state::Attachment& draft) override {
    RAIL_TRY(gate_.Call(Edge::kState, "Create"));
    RAIL_TRY(gate_.Write());
    return inner_->Create(draft);
  }
  Result<std::optional<state::Attachment>> Find(const state::AttachmentKey& key) override {
    RAIL_TRY(gate_.Call(Edge::kState, "Find"));
    return inner_->Find(key);
  }
  Result<std::vector<state::Attachment>> List() override {
    RAIL_TRY(gate_.Call(Edge::kState, "List"));
    return inner_->List();
  }
  Status SetPhase(int64_t id, state::Phase phase) override {
    RAIL_TRY(gate_.Call(Edge::kState, "SetPhase"));
    RAIL_TRY(gate_.Write());
    return inner_->SetPhase(id, phase);
  }
  Status SetAddresses(int64_t id, const std::vector<IpAddress>& addresses,
                      const std::vector<IpAddress>& gateways) override {
    RAIL_TRY(gate_.Call(Edge::kState, "SetAddresses"));
    RAIL_TRY(gate_.Write());
    return inner_->SetAddresses(id, addresses, gateways);
  }
  Status SetOfport(int64_t id, uint16_t ofport) override {
    RAIL_TRY(gate_.Call(Edge::kState, "SetOfport"));
    RAIL_TRY(gate_.Write());
    return inner_->SetOfport(id, ofport);
  }
  Status SetTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id) override {
    RAIL_TRY(gate_.Call(Edge::kState, "SetTenant"));
    RAIL_TRY(gate_.Write());
    return inner_->SetTenant(id, tenant, tenant_id);
  }
  Status SetAnnounced(int64_t id, bool announced) override {
    RAIL_TRY(gate_.Call(Edge::kState, "SetAnnounced"));
    RAIL_TRY(gate_.Write());
    return inner_->SetAnnounced(id, announced);
  }
  Status Remove(int64_t id) override {
    RAIL_TRY(gate_.Call(Edge::kState, "Remove"));
    RAIL_TRY(gate_.Write());
    return inner_->Remove(id);
  }
  Status Claim(int64_t attachment, state::ClaimKind kind, const std::string& value) override {
    RAIL_TRY(gate_.Call(Edge::kState, "Claim"));
    RAIL_TRY(gate_.Write());
    return inner_->Claim(attachment, kind, value);
  }
  Status Release(int64_t attachment, state::ClaimKind kind, const std::string& value) override {
    RAIL_TRY(gate_.Call(Edge::kState, "Release"));
    RAIL_TRY(gate_.Write());
    return inner_->Release(attachment, kind, value);
  }
  Result<std::optional<int64_t>> OwnerOf(state::ClaimKind kind, const std::string& value) override {
    RAIL_TRY(gate_.Call(Edge::kState, "OwnerOf"));
    return inner_->OwnerOf(kind, value);
  }
  Result<int64_t> RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                             const std::string& detail) override {
    RAIL_TRY(gate_.Call(Edge::kState, "RecordStep"));
    RAIL_TRY(gate_.Write());
    return inner_->RecordStep(attachment, owner, kind, detail);
  }
  Status SetPending(int64_t step, const std::string& why) override {
    RAIL_TRY(gate_.Call(Edge::kState, "SetPending"));
    RAIL_TRY(gate_.Write());
    return inner_->SetPending(step, why);
  }
  Status ForgetStep(int64_t step) override {
    RAIL_TRY(gate_.Call(Edge::kState, "ForgetStep"));
    RAIL_TRY(gate_.Write());
    return inner_->ForgetStep(step);
  }
  Result<std::vector<state::Step>> Steps(int64_t attachment) override {
    RAIL_TRY(gate_.Call(Edge::kState, "Steps"));
    return inner_->Steps(attachment);
  }
  Result<int64_t> Version() override {
    RAIL_TRY(gate_.Call(Edge::kState, "Version"));
    return inner_->Version();
  }

 private:
  Gate& gate_;
  std::unique_ptr<state::Store> inner_;
};

}  // namespace

std::unique_ptr<ovs::Ovsdb> Through(Gate& gate, ovs::Ovsdb& inner) {
  return std::make_unique<Ovsdb>(gate, inner);
}

std::unique_ptr<ovs::OpenFlow> Through(Gate& gate, ovs::OpenFlow& inner) {
  return std::make_unique<OpenFlow>(gate, inner);
}

std::unique_ptr<frr::Bgp> Through(Gate& gate, frr::Bgp& inner) {
  return std::make_unique<Bgp>(gate, inner);
}

std::unique_ptr<netlink::Netlink> Through(Gate& gate, netlink::Netlink& inner) {
  return std::make_unique<Links>(gate, inner);
}

std::unique_ptr<podnet::PodNet> Through(Gate& gate, podnet::PodNet& inner) {
  return std::make_unique<Pods>(gate, inner);
}

std::unique_ptr<cni::Ipam> Through(Gate& gate, cni::Ipam& inner) {
  return std::make_unique<Ipam>(gate, inner);
}

std::unique_ptr<state::Store> Through(Gate& gate, std::unique_ptr<state::Store> inner) {
  return std::make_unique<Record>(gate, std::move(inner));
}

}  // namespace rail::engine::testing
