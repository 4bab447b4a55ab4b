// One raild of a fleet that there is not: a document made of the node's number, on a socket or over TCP of its own.
//
// Use:      Fabric fabric{.nodes = 2000};   Node node(fabric, 17);   node.Serve("unix:/tmp/f/n18.sock", nullptr);
//           fabric.broken.insert("su1-leaf4");   node.Changed(v1::WatchStateResponse::RAILS);
// Threads:  one changes; gRPC's send
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rail/v1/node.grpc.pb.h"
#include "rail/v1/state.grpc.pb.h"

namespace rail::fleet {

// What all nodes are made of, and what is broken. Pods of a tenant follow each other from node to node, and ten of them are a job.
struct Fabric {
  uint32_t nodes = 2000;
  uint32_t rails = 8;
  uint32_t pods = 8;  // of a node, each with an interface on each rail
  uint32_t tenants = 50;
  uint32_t unit_size = 64;  // nodes

  mutable std::mutex mutex;
  std::set<std::string> broken;                             // leaves
  std::set<std::pair<std::string, std::string>> unlearned;  // node, address

  std::string NameOf(uint32_t node) const { return "n" + std::to_string(node + 1); }
  std::string UnitOf(uint32_t node) const { return "su" + std::to_string(node / unit_size + 1); }
  std::string LeafOf(uint32_t node, uint32_t rail) const {
    return UnitOf(node) + "-leaf" + std::to_string(rail);
  }
  bool IsBroken(const std::string& leaf) const;
  v1::Attachment AttachmentOf(uint32_t node, uint32_t pod, uint32_t rail) const;
};

class Node {
 public:
  Node(const Fabric& fabric, uint32_t number);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // False: gRPC does not start.
  bool Serve(const std::string& where, const std::shared_ptr<grpc::ServerCredentials>& credentials);
  void End();  // as a raild that is gone
  // Those who watch are sent the section as it is now.
  void Changed(v1::WatchStateResponse::Section section);
  // One more loss of its carrier. How many there are then.
  uint32_t Lose(uint32_t rail);
  uint32_t number() const { return number_; }

 private:
  class Stream;
  class StateService;
  class NodeService;

  v1::NodeState Section(v1::WatchStateResponse::Section section);
  v1::Rail RailOf(uint32_t rail);
  void Add(Stream* stream);
  void Remove(Stream* stream);

  const Fabric& fabric_;
  const uint32_t number_;
  std::mutex mutex_;
  std::vector<uint32_t> losses_;  // by rail
  std::set<Stream*> streams_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<StateService> state_;
  std::unique_ptr<NodeService> node_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace rail::fleet
