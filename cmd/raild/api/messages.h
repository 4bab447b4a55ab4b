// Converts a node's view to messages of rail.v1. No gRPC, no I/O.
//
// Use:      *response = ListAttachments(*views.Current(), request.filter());
//           Changes changes(filter);  for (auto& event : changes.Next(*views.Current())) ...send...
// Threads:  the functions any thread; one Changes one at a time
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cmd/raild/health.h"
#include "lib/base/error.h"
#include "lib/counters/sampler.h"
#include "lib/engine/view.h"
#include "lib/inspect/messages.h"
#include "lib/inspect/topology.h"
#include "rail/v1/counters.pb.h"
#include "rail/v1/node.pb.h"

namespace rail::raild {

constexpr uint32_t kDefaultPage = 1000;  // remotes
constexpr uint32_t kLargestPage = 10000;

using inspect::SetPlane;
using inspect::SetTime;
using inspect::ToMessage;
v1::GetNodeResponse GetNode(const engine::NodeView& view, const Health& raild);
v1::ListRailsResponse ListRails(const engine::NodeView& view);
v1::GetTopologyResponse GetTopology(const engine::NodeView& view);  // topology_messages.cc
void SetLeaf(v1::Leaf& message, const engine::KnownLeaf& leaf);
v1::ListAttachmentsResponse ListAttachments(const engine::NodeView& view, const v1::AttachmentFilter& filter);

// One page, ordered by address, tenant id, rail and session. The page's token is the last remote that was
// returned, so that remotes which come and go between two pages neither repeat nor hide another. Errors:
// kInvalid a token that this function has not made.
Result<v1::ListRemotesResponse> ListRemotes(const engine::NodeView& view,
                                            const v1::ListRemotesRequest& request);

// Counters and bursts (port_messages.cc).
v1::ListCountersResponse ListCounters(const counters::PortsView& view, const v1::PortFilter& filter);
v1::ListBurstsResponse ListBursts(const counters::Sampler& sampler, const v1::ListBurstsRequest& request,
                                  int64_t now_ms);
v1::ListBurstsResponse ToMessage(const counters::BurstList& list, const v1::ListBurstsRequest& request);

// Remembers what was sent to one watcher and finds what must be sent next. Holds the watcher's attachments, never a view.
class Changes {
 public:
  explicit Changes(v1::AttachmentFilter filter) : filter_(std::move(filter)) {}

  // The events that turn what was sent so far into `view`: DELETED first, then ADDED and MODIFIED, each ordered by id. The first
  // call ends with SYNCED. What is returned counts as sent.
  std::vector<v1::WatchAttachmentsResponse> Next(const engine::NodeView& view);

 private:
  v1::AttachmentFilter filter_;
  std::map<int64_t, std::string> told_;  // serialised Attachment by id
  enum class Stage { kFirst, kSynced } stage_ = Stage::kFirst;
};

}  // namespace rail::raild
