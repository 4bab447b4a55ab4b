// What raild tells the API server: the node's condition "railcni.io/rails", and events of nodes and pods.
//
// Use:      const Condition now = ConditionOf({{"rail0", ""}, {"rail1", "no carrier"}});   // "1/2: rail1: no carrier"
//           client.Ask(ConditionRequest("n1", now, UnixMs(), since_ms));
//           client.Ask(EventRequest({...}, UnixMs()));
// Threads:  pure functions; EventLimit one
// Source:   core/v1 Node, NodeCondition and Event; strategic merge patch of conditions by their type
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/kubernetes/client.h"

namespace rail::kubernetes {

inline constexpr char kRailsCondition[] = "railcni.io/rails";

struct RailState {
  std::string name;
  std::string problem;  // "": it works
};

struct Condition {
  bool ok = false;
  std::string reason;   // one word
  std::string message;  // "8/8", or "7/8: rail3: ..."
  bool operator==(const Condition&) const = default;
};

Condition ConditionOf(const std::vector<RailState>& rails);

// `since_ms`: when ok was last another.
Request ConditionRequest(const std::string& node, const Condition& condition, int64_t now_ms,
                         int64_t since_ms);

struct EventSpec {
  std::string kind;              // "Pod", "Node"
  std::string object_namespace;  // "" of a node
  std::string object;
  std::string uid;
  std::string reason;  // one word
  std::string message;
  bool warning = true;
  std::string host;  // the node that tells it
};
// In the object's namespace, or in "default". `number` makes its name unique.
Request EventRequest(const EventSpec& event, int64_t now_ms, uint64_t number);

// Of each namespace, and of the node, ten events at once, then one in ten seconds; the same of the same object once in five minutes.
class EventLimit {
 public:
  // Takes one of the namespace's events if it has one left.
  bool Allows(const EventSpec& event, Deadline now);
  // It was sent: an event that was not is news for as long.
  void Told(const EventSpec& event, Deadline now);

 private:
  struct Allowance {
    double tokens;
    Deadline last;
    std::map<std::pair<std::string, std::string>, Deadline> told;  // uid, message
  };
  std::map<std::string, Allowance> by_namespace_;
};

// "2026-01-02T03:04:05Z"
std::string TimeText(int64_t unix_ms);

}  // namespace rail::kubernetes
