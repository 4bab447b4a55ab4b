#include "lib/engine/testing/fault_injector.h"

namespace rail::engine::testing {

const char* Name(Dependency dependency) {
  constexpr const char* kNames[] = {"OVSDB", "OpenFlow", "bgpd", "netlink", "device",
                                    "guard", "pod",      "IPAM", "state.db"};
  return kNames[static_cast<size_t>(dependency)];
}

void FaultInjector::FailCall(Dependency dependency, int call, Error error) {
  fault_ = Fault{dependency, call, std::move(error)};
  failed_ = false;
}

Status FaultInjector::Write() const {
  if (disk == Disk::kGood) return {};
  if (disk == Disk::kFull) return Fail(Code::kTransient, "state.db: the disk is full");
  return Fail(Code::kPermission, "state.db: cannot be written");
}

Status FaultInjector::Open(Dependency dependency) const {
  if (down.contains(dependency)) return Fail(Code::kTransient, std::string(Name(dependency)) + " is down");
  return {};
}

Status FaultInjector::Call(Dependency dependency, std::string_view call) {
  if (before) before(dependency, call);
  RAIL_TRY(Open(dependency));
  if (!fault_ || fault_->dependency != dependency || --fault_->call > 0) return {};
  failed_ = true;
  const Error error = fault_->error;
  fault_.reset();
  return tl::make_unexpected(error);
}

namespace {

class Ovsdb : public ovs::Ovsdb {
 public:
  Ovsdb(FaultInjector& faults, ovs::Ovsdb& inner) : faults_(faults), inner_(inner) {}
  Result<ovs::Bridge> EnsureBridge(const ovs::BridgeSpec& spec, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "EnsureBridge"));
    return inner_.EnsureBridge(spec, deadline);
  }
  Result<bool> DeleteBridge(const std::string& name, const ovs::ExternalIds& owner, const std::string& uplink,
                            Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "DeleteBridge"));
    return inner_.DeleteBridge(name, owner, uplink, deadline);
  }
  Result<std::vector<ovs::Bridge>> BridgesWith(const std::string& key, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "BridgesWith"));
    return inner_.BridgesWith(key, deadline);
  }
  Status UnmarkBridge(const std::string& bridge, const std::vector<std::string>& keys,
                      Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "UnmarkBridge"));
    return inner_.UnmarkBridge(bridge, keys, deadline);
  }
  Result<std::optional<ovs::Bridge>> FindBridge(const std::string& name, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "FindBridge"));
    return inner_.FindBridge(name, deadline);
  }
  Result<ovs::Port> AddPort(const ovs::PortSpec& spec, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "AddPort"));
    return inner_.AddPort(spec, deadline);
  }
  Status DeletePort(const std::string& bridge, const std::string& name, const ovs::ExternalIds& owner,
                    Wait wait, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "DeletePort"));
    return inner_.DeletePort(bridge, name, owner, wait, deadline);
  }
  Result<std::optional<ovs::Port>> FindPort(const std::string& name, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "FindPort"));
    return inner_.FindPort(name, deadline);
  }
  Status SetExternalIds(const std::string& port, const ovs::ExternalIds& ids, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "SetExternalIds"));
    return inner_.SetExternalIds(port, ids, deadline);
  }
  Status RemoveExternalIds(const std::string& port, const std::vector<std::string>& keys,
                           Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "RemoveExternalIds"));
    return inner_.RemoveExternalIds(port, keys, deadline);
  }
  Result<ovs::ExternalIds> OtherConfig(Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOvsdb, "OtherConfig"));
    return inner_.OtherConfig(deadline);
  }

 private:
  FaultInjector& faults_;
  ovs::Ovsdb& inner_;
};

class OpenFlow : public ovs::OpenFlow {
 public:
  OpenFlow(FaultInjector& faults, ovs::OpenFlow& inner) : faults_(faults), inner_(inner) {}
  Status ForEach(ovs::CookieMatch which, const EachRule& each, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOpenFlow, "Dump"));
    return inner_.ForEach(which, each, deadline);
  }
  Result<uint64_t> Count(ovs::CookieMatch which, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOpenFlow, "Count"));
    return inner_.Count(which, deadline);
  }
  Result<ovs::RuleChanges> Changes() override {
    RAIL_TRY(faults_.Call(Dependency::kOpenFlow, "Changes"));
    return inner_.Changes();
  }
  Status Commit(const ovs::Change& change, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kOpenFlow, "Commit"));
    return inner_.Commit(change, deadline);
  }

 private:
  FaultInjector& faults_;
  ovs::OpenFlow& inner_;
};

class Bgp : public frr::Bgp {
 public:
  Bgp(FaultInjector& faults, frr::Bgp& inner) : faults_(faults), inner_(inner) {}
  frr::Bgp& Instance(const std::string& vrf) override {
    std::unique_ptr<Bgp>& instance = instances_[vrf];
    if (!instance) instance = std::make_unique<Bgp>(faults_, inner_.Instance(vrf));
    return *instance;
  }
  Result<std::vector<std::string>> OurInstances(Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "OurInstances"));
    return inner_.OurInstances(deadline);
  }
  Status RemoveInstance(const std::string& vrf, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "RemoveInstance"));
    return inner_.RemoveInstance(vrf, deadline);
  }
  void ReadOnce(bool on) override { inner_.ReadOnce(on); }
  Status AnnounceAll(const std::vector<frr::Announcement>& announcements, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "AnnounceAll"));
    return inner_.AnnounceAll(announcements, deadline);
  }
  Status WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "WithdrawAll"));
    return inner_.WithdrawAll(addresses, deadline);
  }
  Result<std::vector<frr::Announcement>> Announced(Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "Announced"));
    return inner_.Announced(deadline);
  }
  Result<bool> InAdjRibOut(const IpAddress& ip, const std::string& interface, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "InAdjRibOut"));
    return inner_.InAdjRibOut(ip, interface, deadline);
  }
  Result<std::optional<std::string>> AnnouncedElsewhere(const IpAddress& ip, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "AnnouncedElsewhere"));
    return inner_.AnnouncedElsewhere(ip, deadline);
  }
  Result<std::set<std::string>> UsedLinks(const IpPrefix& prefix, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "UsedLinks"));
    return inner_.UsedLinks(prefix, deadline);
  }
  Result<std::string> SessionState(const std::string& interface, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "SessionState"));
    return inner_.SessionState(interface, deadline);
  }
  Result<std::vector<frr::Session>> Sessions(Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "Sessions"));
    return inner_.Sessions(deadline);
  }
  Result<std::optional<IpAddress>> Identifier(Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "Identifier"));
    return inner_.Identifier(deadline);
  }
  Result<uint64_t> TableVersion(Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "TableVersion"));
    return inner_.TableVersion(deadline);
  }
  Result<std::vector<std::string>> EnsureFrontend(const frr::Frontend& frontend, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "EnsureFrontend"));
    return inner_.EnsureFrontend(frontend, deadline);
  }
  Result<std::vector<IpPrefix>> AdvertisedTo(const std::string& interface, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "AdvertisedTo"));
    return inner_.AdvertisedTo(interface, deadline);
  }
  Result<frr::BaseBefore> LookBefore(const std::vector<std::string>& interfaces, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "LookBefore"));
    return inner_.LookBefore(interfaces, deadline);
  }
  Result<std::vector<std::string>> RemoveOurs(const std::vector<std::string>& interfaces,
                                              const frr::Removal& removal, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "RemoveOurs"));
    return inner_.RemoveOurs(interfaces, removal, deadline);
  }
  Status ResetSession(const std::string& interface, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "ResetSession"));
    return inner_.ResetSession(interface, deadline);
  }
  Result<bool> EnsureFeed(const std::vector<frr::RailPeer>& rails, const frr::FeedTarget& target, bool manage,
                          Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "EnsureFeed"));
    return inner_.EnsureFeed(rails, target, manage, deadline);
  }
  Result<std::vector<std::string>> EnsureBase(const frr::BaseConfig& config, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kBgp, "EnsureBase"));
    return inner_.EnsureBase(config, deadline);
  }

 private:
  FaultInjector& faults_;
  frr::Bgp& inner_;
  std::map<std::string, std::unique_ptr<Bgp>> instances_;
};

class Links : public netlink::Netlink {
 public:
  Links(FaultInjector& faults, netlink::Netlink& inner) : faults_(faults), inner_(inner) {}
  Result<netlink::Link> GetLink(std::string_view name) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "GetLink"));
    return inner_.GetLink(name);
  }
  Result<std::vector<netlink::Link>> ListLinks() override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "ListLinks"));
    return inner_.ListLinks();
  }
  Status SetUp(int link) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "SetUp"));
    return inner_.SetUp(link);
  }
  Status SetDown(int link) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "SetDown"));
    return inner_.SetDown(link);
  }
  Status SetMtu(int link, uint32_t mtu) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "SetMtu"));
    return inner_.SetMtu(link, mtu);
  }
  Status SetMac(int link, const MacAddress& mac) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "SetMac"));
    return inner_.SetMac(link, mac);
  }
  Status Rename(int link, std::string_view name) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "Rename"));
    return inner_.Rename(link, name);
  }
  Status MoveLink(int link, int netns_fd, std::string_view name) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "MoveLink"));
    return inner_.MoveLink(link, netns_fd, name);
  }
  Status AddVrf(std::string_view name, uint32_t table) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "AddVrf"));
    return inner_.AddVrf(name, table);
  }
  Status SetMaster(int link, int master) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "SetMaster"));
    return inner_.SetMaster(link, master);
  }
  Status DeleteLink(int link) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "DeleteLink"));
    return inner_.DeleteLink(link);
  }
  Status AddAddress(const netlink::Address& address) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "AddAddress"));
    return inner_.AddAddress(address);
  }
  Status DeleteAddress(const netlink::Address& address) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "DeleteAddress"));
    return inner_.DeleteAddress(address);
  }
  Result<std::vector<netlink::Address>> ListAddresses(int link) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "ListAddresses"));
    return inner_.ListAddresses(link);
  }
  Status AddRoute(const netlink::Route& route) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "AddRoute"));
    return inner_.AddRoute(route);
  }
  Status DeleteRoute(const netlink::Route& route) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "DeleteRoute"));
    return inner_.DeleteRoute(route);
  }
  Result<std::vector<netlink::Route>> ListRoutes(uint32_t table) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "ListRoutes"));
    return inner_.ListRoutes(table);
  }
  Status AddRule(const netlink::PolicyRule& rule) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "AddRule"));
    return inner_.AddRule(rule);
  }
  Status DeleteRule(const netlink::PolicyRule& rule) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "DeleteRule"));
    return inner_.DeleteRule(rule);
  }
  Result<std::vector<netlink::PolicyRule>> ListRules() override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "ListRules"));
    return inner_.ListRules();
  }
  Status SetPermanentNeighbour(int link, const IpAddress& address, const MacAddress& mac) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "SetPermanentNeighbour"));
    return inner_.SetPermanentNeighbour(link, address, mac);
  }
  Result<std::vector<netlink::Neighbour>> ListNeighbours(int link) override {
    RAIL_TRY(faults_.Call(Dependency::kNetlink, "ListNeighbours"));
    return inner_.ListNeighbours(link);
  }

 private:
  FaultInjector& faults_;
  netlink::Netlink& inner_;
};

class Pods : public podnet::PodNet {
 public:
  Pods(FaultInjector& faults, podnet::PodNet& inner) : faults_(faults), inner_(inner) {}
  Result<bool> HasLink(const netns::Netns& pod, const std::string& name) override {
    RAIL_TRY(faults_.Call(Dependency::kPods, "HasLink"));
    return inner_.HasLink(pod, name);
  }
  Status Configure(const netns::Netns& pod, const podnet::Plan& plan) override {
    RAIL_TRY(faults_.Call(Dependency::kPods, "Configure"));
    return inner_.Configure(pod, plan);
  }
  Status Deconfigure(const netns::Netns& pod, const podnet::Plan& plan) override {
    RAIL_TRY(faults_.Call(Dependency::kPods, "Deconfigure"));
    return inner_.Deconfigure(pod, plan);
  }
  Result<std::vector<podnet::Deviation>> Verify(const netns::Netns& pod, const podnet::Plan& plan) override {
    RAIL_TRY(faults_.Call(Dependency::kPods, "Verify"));
    return inner_.Verify(pod, plan);
  }

 private:
  FaultInjector& faults_;
  podnet::PodNet& inner_;
};

class Ipam : public cni::Ipam {
 public:
  Ipam(FaultInjector& faults, cni::Ipam& inner) : faults_(faults), inner_(inner) {}
  cni::Outcome<cni::AddResult> Add(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kIpam, "Add"));
    return inner_.Add(request, deadline);
  }
  cni::Outcome<void> Del(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kIpam, "Del"));
    return inner_.Del(request, deadline);
  }
  cni::Outcome<void> Check(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kIpam, "Check"));
    return inner_.Check(request, deadline);
  }
  cni::Outcome<void> Forward(const cni::Request& request, Deadline deadline) override {
    RAIL_TRY(faults_.Call(Dependency::kIpam, "Forward"));
    return inner_.Forward(request, deadline);
  }

 private:
  FaultInjector& faults_;
  cni::Ipam& inner_;
};

class Record : public state::Store {
 public:
  Record(FaultInjector& faults, std::unique_ptr<state::Store> inner)
      : faults_(faults), inner_(std::move(inner)) {}
  Result<state::Attachment> Create(const state::Attachment& draft) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "Create"));
    RAIL_TRY(faults_.Write());
    return inner_->Create(draft);
  }
  Result<std::optional<state::Attachment>> Find(const state::AttachmentKey& key) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "Find"));
    return inner_->Find(key);
  }
  Result<std::vector<state::Attachment>> List() override {
    RAIL_TRY(faults_.Call(Dependency::kState, "List"));
    return inner_->List();
  }
  Status SetPhase(int64_t id, state::Phase phase) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "SetPhase"));
    RAIL_TRY(faults_.Write());
    return inner_->SetPhase(id, phase);
  }
  Status SetAddresses(int64_t id, const std::vector<IpAddress>& addresses,
                      const std::vector<IpAddress>& gateways) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "SetAddresses"));
    RAIL_TRY(faults_.Write());
    return inner_->SetAddresses(id, addresses, gateways);
  }
  Status SetOfport(int64_t id, uint16_t ofport) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "SetOfport"));
    RAIL_TRY(faults_.Write());
    return inner_->SetOfport(id, ofport);
  }
  Status SetTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "SetTenant"));
    RAIL_TRY(faults_.Write());
    return inner_->SetTenant(id, tenant, tenant_id);
  }
  Status MoveTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id,
                    int64_t unix_ms) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "MoveTenant"));
    RAIL_TRY(faults_.Write());
    return inner_->MoveTenant(id, tenant, tenant_id, unix_ms);
  }
  Status SetLeft(int64_t id) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "SetLeft"));
    RAIL_TRY(faults_.Write());
    return inner_->SetLeft(id);
  }
  Status SetAnnounced(int64_t id, bool announced) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "SetAnnounced"));
    RAIL_TRY(faults_.Write());
    return inner_->SetAnnounced(id, announced);
  }
  Status Remove(int64_t id) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "Remove"));
    RAIL_TRY(faults_.Write());
    return inner_->Remove(id);
  }
  Status Claim(int64_t attachment, state::ClaimKind kind, const std::string& value) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "Claim"));
    RAIL_TRY(faults_.Write());
    return inner_->Claim(attachment, kind, value);
  }
  Status Release(int64_t attachment, state::ClaimKind kind, const std::string& value) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "Release"));
    RAIL_TRY(faults_.Write());
    return inner_->Release(attachment, kind, value);
  }
  Status ReleaseAll(int64_t attachment, state::ClaimKind kind) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "ReleaseAll"));
    RAIL_TRY(faults_.Write());
    return inner_->ReleaseAll(attachment, kind);
  }
  Result<std::optional<int64_t>> OwnerOf(state::ClaimKind kind, const std::string& value) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "OwnerOf"));
    return inner_->OwnerOf(kind, value);
  }
  Result<int64_t> RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                             const std::string& detail) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "RecordStep"));
    RAIL_TRY(faults_.Write());
    return inner_->RecordStep(attachment, owner, kind, detail);
  }
  Status SetPending(int64_t step, const std::string& why) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "SetPending"));
    RAIL_TRY(faults_.Write());
    return inner_->SetPending(step, why);
  }
  Status ForgetStep(int64_t step) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "ForgetStep"));
    RAIL_TRY(faults_.Write());
    return inner_->ForgetStep(step);
  }
  Result<std::vector<state::Step>> Steps(int64_t attachment) override {
    RAIL_TRY(faults_.Call(Dependency::kState, "Steps"));
    return inner_->Steps(attachment);
  }
  Result<int64_t> Version() override {
    RAIL_TRY(faults_.Call(Dependency::kState, "Version"));
    return inner_->Version();
  }

 private:
  FaultInjector& faults_;
  std::unique_ptr<state::Store> inner_;
};

}  // namespace

std::unique_ptr<ovs::Ovsdb> WithFaults(FaultInjector& faults, ovs::Ovsdb& inner) {
  return std::make_unique<Ovsdb>(faults, inner);
}

std::unique_ptr<ovs::OpenFlow> WithFaults(FaultInjector& faults, ovs::OpenFlow& inner) {
  return std::make_unique<OpenFlow>(faults, inner);
}

std::unique_ptr<frr::Bgp> WithFaults(FaultInjector& faults, frr::Bgp& inner) {
  return std::make_unique<Bgp>(faults, inner);
}

std::unique_ptr<netlink::Netlink> WithFaults(FaultInjector& faults, netlink::Netlink& inner) {
  return std::make_unique<Links>(faults, inner);
}

std::unique_ptr<podnet::PodNet> WithFaults(FaultInjector& faults, podnet::PodNet& inner) {
  return std::make_unique<Pods>(faults, inner);
}

std::unique_ptr<cni::Ipam> WithFaults(FaultInjector& faults, cni::Ipam& inner) {
  return std::make_unique<Ipam>(faults, inner);
}

std::unique_ptr<state::Store> WithFaults(FaultInjector& faults, std::unique_ptr<state::Store> inner) {
  return std::make_unique<Record>(faults, std::move(inner));
}

}  // namespace rail::engine::testing
