// Who takes part in `railctl accept`: nodes with their raild, and pods with an agent each. A file names them; raild says what their interfaces are.
//
// Use:      RAIL_ASSIGN(const Cast cast, ReadCast("stage.json"));   // or made by whoever makes the pods
//           RAIL_ASSIGN(const Stage stage, Stage::Open(cast));
//           for (const Port& port : stage.ports()) ...
// Threads:  one; agents may be asked by several at once
// Owns:     the connections
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"
#include "lib/rpc/channel.h"
#include "rail/v1/accept.grpc.pb.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::accept {

using rpc::Ask;
using rpc::AskAll;
using rpc::Connect;
using rpc::kShort;
using rpc::Milliseconds;
using rpc::SetPatience;
using rpc::Tls;
using rpc::ToStatus;

// As the file has it: {"nodes": [{"name", "raild"}], "pods": [{"namespace", "name", "node", "agent"}], "tls": {"ca_file", "cert_file", "key_file"}}
struct Cast {
  struct Node {
    std::string name;
    std::string raild;  // "unix:/run/railcni/raild.sock", "10.0.0.5:9443"
  };
  struct Pod {
    std::string pod_namespace;
    std::string name;
    std::string node;
    std::string agent;  // as `raild`
  };
  std::vector<Node> nodes;
  std::vector<Pod> pods;
  Tls tls;  // for those that are asked over TCP
  // A pod of the first tenant comes and goes so often on each node. Empty: whoever makes the pods does not. Errors: of making them.
  std::function<Status(uint32_t times)> churn = {};
};

// Errors: kInvalid, with all keys that are wrong; kNotFound; those of reading the files of `tls`.
Result<Cast> ReadCast(const std::string& path);

struct Node {
  std::string name;
  std::unique_ptr<v1::Node::Stub> raild;
  std::vector<v1::Rail> rails;
  v1::NodeInfo info;
  Result<v1::DoctorResponse> doctor;  // before anything was tried

  std::string Whom() const { return "raild of " + name; }
};

// The name of the rail's leaf, else its router id; empty: it has not been heard.
std::string LeafOf(const v1::Rail& rail);

struct PodAgent {
  std::string pod;  // "namespace/name"
  std::string node;
  std::unique_ptr<v1::AcceptAgent::Stub> stub;
  v1::DescribeAgentResponse has;
  std::string beside;  // its IPv4 address on the pods' network beside the rails; empty: none

  std::string Whom() const { return "the agent of pod " + pod; }
};

// An interface of a pod on a rail, as raild and the agent know it.
struct Port {
  const PodAgent* agent = nullptr;
  const Node* node = nullptr;
  std::string rail;
  std::string ifname;
  std::string tenant;
  std::string tenant_id;
  std::string leaf;  // the rail's leaf; empty: not heard
  MacAddress mac;
  MacAddress gateway;
  IpAddress ipv4;  // unspecified: none
  IpAddress ipv6;
  uint32_t mtu = 0;

  const std::string& pod() const { return agent->pod; }
};

class Stage {
 public:
  // Asks everybody who they are, many at once. Errors: kInvalid: a pod on a node that is not there, a pod of which raild knows no interface; those of asking.
  static Result<Stage> Open(const Cast& cast);

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<PodAgent>>& agents() const { return agents_; }
  // By rail, then as the pods are named.
  const std::vector<Port>& ports() const { return ports_; }
  std::vector<std::string> Rails() const;
  const std::function<Status(uint32_t)>& churn() const { return churn_; }  // as of the cast

 private:
  Status AskNodes(const Cast& cast);
  Status AskPods(const Cast& cast);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<PodAgent>> agents_;
  std::vector<Port> ports_;
  std::function<Status(uint32_t)> churn_;
};

}  // namespace rail::accept
