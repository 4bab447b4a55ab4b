#include "cmd/railctl/accept/stage.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::accept {
namespace {

// `Read` one object of an array after the other.
template <class Entry, class ReadOne>
std::vector<Entry> Entries(JsonObject& whole, const std::string& key, JsonErrors& errors, ReadOne read_one) {
  std::vector<Entry> entries;
  const nlohmann::json* const array = whole.Array(key);
  if (array == nullptr) {
    errors.Add(key, "is missing: at least one is needed");
    return entries;
  }
  for (size_t i = 0; i < array->size(); ++i) {
    JsonObject object((*array)[i], key + "[" + std::to_string(i) + "]", errors);
    entries.push_back(read_one(object));
    object.RejectUnknown();
  }
  if (entries.empty()) errors.Add(key, "must name at least one");
  return entries;
}

Result<Port> PortOf(const PodAgent& agent, const Node& node, const v1::Attachment& attachment) {
  const auto rail = std::ranges::find(node.rails, attachment.rail(), &v1::Rail::name);
  if (rail == node.rails.end())
    return Fail(Code::kInvalid, "raild of " + node.name + " has no rail " + attachment.rail());
  config::Rail numbered;
  numbered.index = rail->index();
  Port port;
  port.agent = &agent;
  port.node = &node;
  port.rail = attachment.rail();
  port.ifname = attachment.ifname();
  port.tenant = attachment.tenant().name();
  port.tenant_id = attachment.tenant().id();
  port.leaf = LeafOf(*rail);
  port.gateway = numbered.GatewayMac();
  port.mtu = attachment.mtu();
  RAIL_ASSIGN(port.mac, MacAddress::Parse(attachment.mac()));
  for (const std::string& text : attachment.addresses()) {
    RAIL_ASSIGN(const IpAddress address, IpAddress::Parse(text));
    (address.is_v6() ? port.ipv6 : port.ipv4) = address;
  }
  return port;
}

// The first IPv4 address of an interface that is no attachment of ours.
std::string BesideRails(const v1::DescribeAgentResponse& has,
                        const v1::ListAttachmentsResponse& attachments) {
  for (const auto& interface : has.interfaces()) {
    if (std::ranges::find(attachments.attachments(), interface.name(), &v1::Attachment::ifname) !=
        attachments.attachments().end())
      continue;
    for (const std::string& text : interface.addresses()) {
      const auto address = IpAddress::Parse(text);
      if (address && !address->is_v6()) return text;
    }
  }
  return "";
}

Result<std::unique_ptr<Node>> AskNode(const Cast::Node& node, const Tls& tls) {
  auto asked = std::make_unique<Node>();
  asked->name = node.name;
  RAIL_ASSIGN(const auto channel, Connect(node.raild, tls));
  asked->raild = v1::Node::NewStub(channel);
  RAIL_ASSIGN(const auto rails, Ask(*asked->raild, &v1::Node::Stub::ListRails, {}, asked->Whom()));
  asked->rails.assign(rails.rails().begin(), rails.rails().end());
  RAIL_ASSIGN(const auto info, Ask(*asked->raild, &v1::Node::Stub::GetNode, {}, asked->Whom()));
  asked->info = info.node();
  asked->doctor = Ask(*asked->raild, &v1::Node::Stub::Doctor, {}, asked->Whom());
  return asked;
}

// Its interfaces; its agent is put into `place`, where they refer to it.
Result<std::vector<Port>> AskPod(const Cast::Pod& pod, const Tls& tls,
                                 const std::vector<std::unique_ptr<Node>>& nodes,
                                 std::unique_ptr<PodAgent>& place) {
  place = std::make_unique<PodAgent>();
  PodAgent& agent = *place;
  agent.pod = pod.pod_namespace + "/" + pod.name;
  agent.node = pod.node;
  const auto node = std::ranges::find(nodes, pod.node, [](const auto& each) { return each->name; });
  if (node == nodes.end())
    return Fail(Code::kInvalid,
                "pod " + agent.pod + " is on node " + pod.node + ", which is not among the nodes");
  RAIL_ASSIGN(const auto channel, Connect(pod.agent, tls));
  agent.stub = v1::AcceptAgent::NewStub(channel);
  RAIL_ASSIGN(agent.has, Ask(*agent.stub, &v1::AcceptAgent::Stub::DescribeAgent, {}, agent.Whom()));
  v1::ListAttachmentsRequest request;
  request.mutable_filter()->set_namespace_(pod.pod_namespace);
  request.mutable_filter()->set_pod(pod.name);
  RAIL_ASSIGN(const auto found,
              Ask(*(*node)->raild, &v1::Node::Stub::ListAttachments, request, (*node)->Whom()));
  if (found.attachments().empty())
    return Fail(Code::kInvalid, (*node)->Whom() + " knows no interface of pod " + agent.pod +
                                    ": is it attached, and on this node?");
  std::vector<Port> ports;
  for (const v1::Attachment& attachment : found.attachments()) {
    RAIL_ASSIGN(Port port, PortOf(agent, **node, attachment));
    ports.push_back(std::move(port));
  }
  agent.beside = BesideRails(agent.has, found);
  return ports;
}

}  // namespace

std::string LeafOf(const v1::Rail& rail) {
  return rail.leaf().name().empty() ? rail.leaf().router_id() : rail.leaf().name();
}

Result<Cast> ReadCast(const std::string& path) {
  RAIL_ASSIGN(const nlohmann::json document, ReadJsonFile(path));
  JsonErrors errors;
  JsonObject whole(document, "", errors);
  Cast cast;
  cast.nodes = Entries<Cast::Node>(whole, "nodes", errors, [](JsonObject& object) {
    return Cast::Node{object.String("name"), object.String("raild")};
  });
  cast.pods = Entries<Cast::Pod>(whole, "pods", errors, [](JsonObject& object) {
    return Cast::Pod{object.String("namespace"), object.String("name"), object.String("node"),
                     object.String("agent")};
  });
  const rpc::TlsFiles files = rpc::ReadTlsFiles(whole, "tls", errors);
  whole.RejectUnknown();
  RAIL_TRY(errors.ToStatus(path));
  if (!files.empty()) {
    RAIL_ASSIGN(cast.tls, rpc::ReadTls(files));
  }
  return cast;
}

Status Stage::AskNodes(const Cast& cast) {
  nodes_.resize(cast.nodes.size());
  return AskAll(cast.nodes.size(), [&](size_t i) -> Status {
    RAIL_ASSIGN(nodes_[i], AskNode(cast.nodes[i], cast.tls));
    return {};
  });
}

Status Stage::AskPods(const Cast& cast) {
  std::vector<std::vector<Port>> ports(cast.pods.size());
  agents_.resize(cast.pods.size());
  RAIL_TRY(AskAll(cast.pods.size(), [&](size_t i) -> Status {
    RAIL_ASSIGN(ports[i], AskPod(cast.pods[i], cast.tls, nodes_, agents_[i]));
    return {};
  }));
  for (std::vector<Port>& each : ports)
    ports_.insert(ports_.end(), std::make_move_iterator(each.begin()), std::make_move_iterator(each.end()));
  std::ranges::stable_sort(ports_, {}, &Port::rail);
  return {};
}

Result<Stage> Stage::Open(const Cast& cast) {
  Stage stage;
  RAIL_TRY(stage.AskNodes(cast));
  RAIL_TRY(stage.AskPods(cast));
  stage.churn_ = cast.churn;
  return stage;
}

std::vector<std::string> Stage::Rails() const {
  std::set<std::string> rails;
  for (const Port& port : ports_) rails.insert(port.rail);
  return {rails.begin(), rails.end()};
}

}  // namespace rail::accept
