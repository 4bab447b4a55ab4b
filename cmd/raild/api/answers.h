// Converts what lib/inspect finds to messages of rail.v1, and requests to its questions. No gRPC, no I/O.
//
// Use:      RAIL_ASSIGN(const inspect::Question question, ToQuestion(request));  *response = ToMessage(answer);
// Threads:  pure functions
#pragma once

#include <vector>

#include "lib/inspect/inspector.h"
#include "lib/inspect/tenants.h"
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

v1::ListTenantsResponse ToMessage(const std::vector<inspect::TenantSeen>& tenants);
v1::ListFlowsResponse ToMessage(const inspect::Flows& flows);
v1::CheckResponse ToMessage(const std::vector<inspect::Checked>& checked);
v1::TraceResponse ToMessage(const inspect::Answer& answer);
v1::DoctorResponse ToMessage(const std::vector<inspect::Finding>& findings);

}  // namespace rail::raild
