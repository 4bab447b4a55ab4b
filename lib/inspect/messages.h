// What several answers of rail.v1.Node hold: attachments and rules.
//
// Use:      *response.mutable_attachment() = ToMessage(*view.attachments.front());
// Threads:  pure functions
#pragma once

#include <optional>

#include "lib/engine/view.h"
#include "lib/ovs/rule.h"
#include "rail/v1/node.pb.h"

namespace rail::inspect {

void SetTime(google::protobuf::Timestamp& time, int64_t unix_ms);

// Of messages with rail_number and plane, which are unset where nobody says that the rail has planes.
template <class Message>
void SetPlane(Message& message, const std::optional<tenancy::Plane>& plane) {
  if (!plane) return;
  message.set_rail_number(plane->rail);
  message.set_plane(plane->number);
}
v1::Attachment ToMessage(const engine::AttachmentView& view);

// Without its counters.
v1::RuleStats ToMessage(const ovs::Rule& rule);

}  // namespace rail::inspect
