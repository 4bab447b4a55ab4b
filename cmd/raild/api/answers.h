// Converts requests to questions of lib/inspect, and findings to messages of rail.v1. No gRPC, no I/O.
//
// Use:      RAIL_ASSIGN(const inspect::Question question, ToQuestion(request));  *response = ToMessage(findings);
// Threads:  pure functions
#pragma once

#include <vector>

#include "lib/inspect/inspector.h"
#include "rail/v1/node.pb.h"

namespace rail::raild {

inspect::Selector ToSelector(const v1::AttachmentSelector& message);

// Errors: kInvalid, naming the field.
Result<inspect::Question> ToQuestion(const v1::TraceRequest& request);

// Attachments in a page of ListFlows. Each has 1000 megaflows at most, of which none is likely to be longer than 1 kB: a page of the
// largest size stays below 32 MB.
constexpr uint32_t kDefaultFlowsPage = 16;
constexpr uint32_t kLargestFlowsPage = 32;

// Errors: kInvalid, naming the field.
Result<inspect::FlowsPage> ToPage(const v1::ListFlowsRequest& request);

v1::DoctorResponse ToMessage(const std::vector<inspect::Finding>& findings);

}  // namespace rail::raild
