#include "cmd/raild/api/answers.h"

#include <algorithm>

#include "cmd/raild/api/messages.h"
#include "lib/base/parse.h"
#include "lib/base/utf8.h"
#include "lib/inspect/doctor/causes.h"

namespace rail::raild {
namespace {

v1::Finding::Severity SeverityOf(inspect::Severity severity) {
  switch (severity) {
    case inspect::Severity::kInfo: return v1::Finding::INFO;
    case inspect::Severity::kWarning: return v1::Finding::WARNING;
    case inspect::Severity::kCritical: return v1::Finding::CRITICAL;
  }
  return v1::Finding::SEVERITY_UNSPECIFIED;
}

void Fill(v1::Finding& message, const inspect::Finding& finding) {
  message.set_severity(SeverityOf(finding.severity));
  message.set_id(finding.id);
  message.set_subject(ValidUtf8(finding.subject));
  message.set_what(ValidUtf8(finding.what));
  message.set_why(ValidUtf8(finding.why));
  message.set_fix(ValidUtf8(finding.fix));
  message.set_rail(finding.rail);
  message.set_attachment(finding.attachment);
  message.set_follows_in_short(inspect::FollowsInShort(finding));
  for (const inspect::Finding& each : finding.follows) Fill(*message.add_follows(), each);
}

Result<uint16_t> ToPort(uint32_t number, uint16_t fallback, const char* field) {
  if (number > UINT16_MAX)
    return Fail(Code::kInvalid,
                std::string(field) + ": " + std::to_string(number) + " is no port: 1 to 65535");
  return number == 0 ? fallback : static_cast<uint16_t>(number);
}

}  // namespace

inspect::Selector ToSelector(const v1::AttachmentSelector& message) {
  return {message.id(),   message.namespace_(), message.pod(),
          message.rail(), message.ifname(),     message.tenant()};
}

Result<inspect::Question> ToQuestion(const v1::TraceRequest& request) {
  inspect::Question question{.source = ToSelector(request.source())};
  RAIL_ASSIGN_AS(question.destination, IpAddress::Parse(request.destination()), "destination");
  if (!v1::TraceRequest::Protocol_IsValid(request.protocol()))
    return Fail(Code::kInvalid, "protocol: " + std::to_string(request.protocol()) + " is unknown");
  question.protocol = request.protocol();
  RAIL_ASSIGN(question.destination_port,
              ToPort(request.destination_port(), question.destination_port, "destination_port"));
  RAIL_ASSIGN(question.source_port, ToPort(request.source_port(), question.source_port, "source_port"));
  if (!request.source_address().empty()) {
    RAIL_ASSIGN_AS(question.source_address, IpAddress::Parse(request.source_address()), "source_address");
  }
  if (!request.source_mac().empty()) {
    RAIL_ASSIGN_AS(question.source_mac, MacAddress::Parse(request.source_mac()), "source_mac");
  }
  return question;
}

Result<inspect::FlowsPage> ToPage(const v1::ListFlowsRequest& request) {
  inspect::FlowsPage page{.size = request.page_size() == 0
                                      ? kDefaultFlowsPage
                                      : std::min(request.page_size(), kLargestFlowsPage)};
  if (request.page_token().empty()) return page;
  page.after = Number<int64_t>(request.page_token()).value_or(0);
  if (page.after <= 0) return Fail(Code::kInvalid, "page_token: not one that ListFlows has given");
  return page;
}

v1::DoctorResponse ToMessage(const std::vector<inspect::Finding>& findings) {
  v1::DoctorResponse response;
  for (const inspect::Finding& each : findings) Fill(*response.add_findings(), each);
  response.set_checks(static_cast<uint32_t>(inspect::KindsOfFindings().size()));
  return response;
}

}  // namespace rail::raild
