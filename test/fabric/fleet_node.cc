#include "test/fabric/fleet_node.h"

#include <algorithm>
#include <cstdio>

#include "lib/rpc/server.h"

namespace rail::fleet {
namespace {

using Response = v1::WatchStateResponse;

constexpr int64_t kStarted = 1'767'323'045;  // Unix time

std::string Hex(uint64_t number, int digits) {
  char text[80];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(number));
  return text;
}

std::string TenantId(uint32_t tenant) {
  return Hex(0x1000U + tenant, 28);
}

}  // namespace

bool Fabric::IsBroken(const std::string& leaf) const {
  const std::lock_guard lock(mutex);
  return broken.contains(leaf);
}

v1::Attachment Fabric::AttachmentOf(uint32_t node, uint32_t pod, uint32_t rail) const {
  const uint32_t number = node * pods + pod;  // of all pods
  const uint32_t tenant = number % tenants;
  const uint32_t of_tenant = number / tenants;
  v1::Attachment a;
  a.set_id(static_cast<int64_t>(pod) * rails + rail + 1);
  a.mutable_pod()->set_namespace_("ns-" + std::to_string(tenant));
  a.mutable_pod()->set_name("train" + std::to_string(of_tenant / 10) + "-" + std::to_string(of_tenant % 10));
  a.mutable_pod()->set_uid(Hex(number, 8) + "-0000-4000-8000-000000000000");
  a.set_ifname("net" + std::to_string(rail + 1));
  a.set_rail("rail" + std::to_string(rail));
  a.set_network("rail" + std::to_string(rail));
  a.add_addresses("10." + std::to_string(64 + rail) + "." + std::to_string(number / 250) + "." +
                  std::to_string(number % 250 + 1));
  a.mutable_tenant()->set_name("ns-" + std::to_string(tenant));
  a.mutable_tenant()->set_id(TenantId(tenant));
  a.set_device("0000:" + Hex(0x10 + rail, 2) + ":00." + std::to_string(pod % 8));
  a.set_representor("pf" + std::to_string(rail) + "vf" + std::to_string(pod));
  a.set_container_id(Hex(number, 64));
  a.set_netns("/var/run/netns/cni-" + Hex(number, 36));
  a.set_mac("02:00:" + Hex(rail, 2) + ":" + Hex(number >> 16U & 255U, 2) + ":" + Hex(number >> 8U & 255U, 2) +
            ":" + Hex(number & 255U, 2));
  a.set_mtu(4200);
  a.set_ofport(pod + 1);
  a.set_phase(v1::Attachment::READY);
  a.set_state(v1::Attachment::STATE_READY);
  a.set_rules(v1::Attachment::RULES_OK);
  a.set_rules_in_place(true);
  a.set_announcement(v1::Attachment::ANNOUNCED);
  a.set_announced(true);
  a.mutable_created()->set_seconds(kStarted);
  return a;
}

// One who watches. While a write is under way, what changes waits as the number of its section.
class Node::Stream final : public grpc::ServerWriteReactor<Response> {
 public:
  explicit Stream(Node& node) : node_(node) { node_.Add(this); }

  void Dirty(Response::Section section) {
    const std::lock_guard lock(mutex_);
    if (section == Response::ALL || !dirty_.contains(Response::ALL)) dirty_.insert(section);
    Send();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    EndLocked({grpc::StatusCode::UNAVAILABLE, "raild is stopping"});
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) return EndLocked(grpc::Status::CANCELLED);
    Send();
  }
  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    EndLocked(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    node_.Remove(this);
    delete this;
  }

 private:
  void Send() {
    if (writing_ || ended_ || dirty_.empty()) return;
    const Response::Section section = *dirty_.begin();
    dirty_.erase(dirty_.begin());
    response_.Clear();
    response_.set_number(++number_);
    response_.set_section(section);
    *response_.mutable_state() = node_.Section(section);
    writing_ = true;
    StartWrite(&response_);
  }
  void EndLocked(const grpc::Status& status) {
    if (!std::exchange(ended_, true)) Finish(status);
  }

  Node& node_;
  std::mutex mutex_;
  std::set<Response::Section> dirty_;
  Response response_;
  uint64_t number_ = 0;
  bool writing_ = false;
  bool ended_ = false;
};

class Node::StateService final : public v1::State::CallbackService {
 public:
  explicit StateService(Node& node) : node_(node) {}
  grpc::ServerWriteReactor<Response>* WatchState(grpc::CallbackServerContext*,
                                                 const v1::WatchStateRequest*) override {
    auto* stream = new Stream(node_);  // deletes itself in OnDone
    stream->Dirty(Response::ALL);
    return stream;
  }

 private:
  Node& node_;
};

class Node::NodeService final : public v1::Node::CallbackService {
 public:
  explicit NodeService(const Node& node) : node_(node) {}

  grpc::ServerUnaryReactor* ListRemotes(grpc::CallbackServerContext* call,
                                        const v1::ListRemotesRequest* request,
                                        v1::ListRemotesResponse* response) override {
    const Fabric& fabric = node_.fabric_;
    const uint32_t last = fabric.nodes * fabric.pods;
    const uint32_t size = std::clamp(request->page_size(), 1U, 10'000U);
    uint32_t pod =
        request->page_token().empty() ? 0 : static_cast<uint32_t>(std::stoul(request->page_token()));
    for (; pod < last && static_cast<uint32_t>(response->remotes_size()) + fabric.rails <= size; ++pod)
      AddRemotes(pod, *request, *response);
    if (pod < last) response->set_next_page_token(std::to_string(pod));
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  void AddRemotes(uint32_t pod, const v1::ListRemotesRequest& request,
                  v1::ListRemotesResponse& response) const {
    const Fabric& fabric = node_.fabric_;
    const uint32_t node = pod / fabric.pods;
    if (node == node_.number_ || TenantId(pod % fabric.tenants) != request.tenant()) return;
    for (uint32_t rail = 0; rail < fabric.rails; ++rail) {
      const v1::Attachment a = fabric.AttachmentOf(node, pod % fabric.pods, rail);
      if (fabric.IsBroken(fabric.LeafOf(node, rail)) || fabric.IsBroken(fabric.LeafOf(node_.number_, rail)))
        continue;
      {
        const std::lock_guard lock(fabric.mutex);
        if (fabric.unlearned.contains({fabric.NameOf(node_.number_), a.addresses(0)})) continue;
      }
      v1::Remote& remote = *response.add_remotes();
      remote.set_address(a.addresses(0));
      *remote.mutable_tenant() = a.tenant();
      remote.set_rail(a.rail());
      remote.set_rail_index(rail);
      remote.set_reach(v1::Remote::REACH_INSTALLED);
      remote.set_installed(true);
    }
  }

  const Node& node_;
};

Node::Node(const Fabric& fabric, uint32_t number) : fabric_(fabric), number_(number), losses_(fabric.rails) {}

Node::~Node() {
  End();
}

bool Node::Serve(const std::string& where, const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  state_ = std::make_unique<StateService>(*this);
  node_ = std::make_unique<NodeService>(*this);
  credentials_ = credentials != nullptr ? credentials : grpc::InsecureServerCredentials();
  grpc::ServerBuilder builder;
  rpc::Limit(builder, {.name = "raild"});
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(where, credentials_);
  builder.RegisterService(state_.get());
  builder.RegisterService(node_.get());
  server_ = builder.BuildAndStart();
  return server_ != nullptr;
}

void Node::End() {
  if (server_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) stream->End();
  }
  server_->Shutdown(gpr_time_0(GPR_TIMESPAN));
  server_->Wait();
  server_.reset();
}

void Node::Changed(Response::Section section) {
  const std::lock_guard lock(mutex_);
  for (Stream* stream : streams_) stream->Dirty(section);
}

uint32_t Node::Lose(uint32_t rail) {
  uint32_t losses = 0;
  {
    const std::lock_guard lock(fabric_.mutex);
    losses = ++losses_.at(rail);
  }
  Changed(Response::RAILS);
  return losses;
}

void Node::Add(Stream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.insert(stream);
}

void Node::Remove(Stream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

v1::Rail Node::RailOf(uint32_t number) {
  const std::string leaf = fabric_.LeafOf(number_, number);
  const bool broken = fabric_.IsBroken(leaf);
  v1::Rail rail;
  rail.set_name("rail" + std::to_string(number));
  rail.set_index(number);
  rail.set_number(number);
  rail.set_bridge("br-" + rail.name());
  rail.set_pf("ens" + std::to_string(number + 1) + "f0np0");
  rail.set_mtu(4200);
  rail.set_state(broken ? v1::Rail::NO_SESSION : v1::Rail::READY);
  rail.set_bridge_present(true);
  rail.set_bridge_mac("02:00:00:00:0f:" + Hex(number, 2));
  rail.set_leaf_mac("02:00:00:00:1f:" + Hex(number, 2));
  rail.set_carrier(true);
  rail.set_bgp_state(broken ? "Active" : "Established");
  rail.set_connected(!broken);
  if (broken) rail.set_bgp_problem("the leaf does not answer: Active");
  rail.set_rules_installed(100);
  rail.set_rules_wanted(100);
  rail.mutable_leaf()->set_name(leaf);
  rail.mutable_leaf()->set_asn(4'200'000'000U + number_ / fabric_.unit_size * 16 + number);
  rail.mutable_leaf()->set_router_id("10.255." + std::to_string(number_ / fabric_.unit_size) + "." +
                                     std::to_string(number + 1));
  rail.mutable_leaf()->set_heard(!broken);
  rail.mutable_lldp()->set_system_name(leaf);
  rail.mutable_lldp()->set_port("swp" + std::to_string(number_ % fabric_.unit_size + 1));
  rail.set_prefixes_received(broken ? 0 : 1000);
  rail.set_prefixes_sent(broken ? 0 : fabric_.pods);
  const std::lock_guard lock(fabric_.mutex);
  rail.set_carrier_losses(losses_.at(number));
  return rail;
}

v1::NodeState Node::Section(Response::Section section) {
  const auto wants = [section](Response::Section which) {
    return section == Response::ALL || section == which;
  };
  v1::NodeState state;
  if (wants(Response::NODE)) {
    v1::NodeInfo& node = *state.mutable_node();
    node.set_hostname(fabric_.NameOf(number_));
    node.set_version("0.1.0");
    node.mutable_started()->set_seconds(kStarted);
    node.set_bmp_up(true);
    node.set_unit(fabric_.UnitOf(number_));
    for (const char* part : {"state", "bgp", "bgp sessions", "bgp announcements", "bgp feed"}) {
      v1::HealthPart& health = *node.add_health();
      health.set_part(part);
      health.set_ok(true);
    }
  }
  if (wants(Response::RAILS)) {
    for (uint32_t rail = 0; rail < fabric_.rails; ++rail) *state.add_rails() = RailOf(rail);
  }
  if (wants(Response::LEARNED)) {
    state.mutable_learned()->set_complete(true);
    state.mutable_learned()->set_remotes((fabric_.nodes - 1) * fabric_.pods * fabric_.rails);
  }
  if (wants(Response::ATTACHMENTS)) {
    for (uint32_t pod = 0; pod < fabric_.pods; ++pod) {
      for (uint32_t rail = 0; rail < fabric_.rails; ++rail)
        *state.add_attachments() = fabric_.AttachmentOf(number_, pod, rail);
    }
  }
  return state;
}

}  // namespace rail::fleet
