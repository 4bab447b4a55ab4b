#include "cmd/raild/api/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "cmd/raild/api/messages.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/inspect/doctor/causes.h"

namespace rail::raild {
namespace {

void SetRule(v1::RuleStats& message, const ovs::Rule& rule) {
  message.set_table(rule.table);
  message.set_priority(rule.priority);
  message.set_cookie(fmt::format("{:#018x}", rule.cookie));
  message.set_kind(inspect::CookieKindName(rule.cookie));
  message.set_match(ValidUtf8(rule.match));
  message.set_actions(ValidUtf8(rule.actions));
}

v1::TraceStep ToMessage(const inspect::Hop& hop) {
  v1::TraceStep message;
  message.set_table(hop.step.table);
  message.set_table_name(inspect::TableName(hop.step.table));
  message.set_matched(hop.step.matched);
  if (hop.step.matched) {
    SetRule(*message.mutable_rule(), {hop.step.table, hop.step.priority, hop.step.cookie, hop.step.match,
                                      Join(hop.step.actions, ",")});
  }
  message.set_words(ValidUtf8(hop.words));
  return message;
}

v1::Megaflow::Place PlaceOf(inspect::Place place) {
  switch (place) {
    case inspect::Place::kHardware:
      return v1::Megaflow::HARDWARE;
    case inspect::Place::kTc:
      return v1::Megaflow::TC;
    case inspect::Place::kSoftware:
      return v1::Megaflow::SOFTWARE;
  }
  return v1::Megaflow::PLACE_UNSPECIFIED;
}

v1::TraceResponse::Verdict VerdictOf(inspect::Verdict verdict) {
  switch (verdict) {
    case inspect::Verdict::kReaches:
      return v1::TraceResponse::REACHES;
    case inspect::Verdict::kDoubtful:
      return v1::TraceResponse::DOUBTFUL;
    case inspect::Verdict::kDropped:
      return v1::TraceResponse::DROPPED;
  }
  return v1::TraceResponse::VERDICT_UNSPECIFIED;
}

// The two enums are the same list, the message's with UNSPECIFIED in front.
v1::TraceResponse::Reason ReasonOf(inspect::Reason reason) {
  static_assert(static_cast<int>(inspect::Reason::kInsidePod) + 1 ==
                static_cast<int>(v1::TraceResponse::INSIDE_POD));
  static_assert(static_cast<int>(inspect::Reason::kNotAnnounced) + 1 ==
                static_cast<int>(v1::TraceResponse::NOT_ANNOUNCED));
  return static_cast<v1::TraceResponse::Reason>(static_cast<int>(reason) + 1);
}

v1::Finding::Severity SeverityOf(inspect::Severity severity) {
  switch (severity) {
    case inspect::Severity::kInfo:
      return v1::Finding::INFO;
    case inspect::Severity::kWarning:
      return v1::Finding::WARNING;
    case inspect::Severity::kCritical:
      return v1::Finding::CRITICAL;
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
  switch (request.protocol()) {
    case v1::TraceRequest::PROTOCOL_UNSPECIFIED:
    case v1::TraceRequest::UDP:
      question.protocol = inspect::Protocol::kUdp;
      break;
    case v1::TraceRequest::TCP:
      question.protocol = inspect::Protocol::kTcp;
      break;
    case v1::TraceRequest::ICMP:
      question.protocol = inspect::Protocol::kIcmp;
      break;
    default:
      return Fail(Code::kInvalid, "protocol: " + std::to_string(request.protocol()) + " is unknown");
  }
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
  const std::string& token = request.page_token();
  if (token.empty()) return page;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), page.after);
  if (error != std::errc() || end != token.data() + token.size() || page.after <= 0)
    return Fail(Code::kInvalid, "page_token: not one that ListFlows has given");
  return page;
}

v1::ListTenantsResponse ToMessage(const std::vector<inspect::TenantSeen>& tenants) {
  v1::ListTenantsResponse response;
  for (const inspect::TenantSeen& each : tenants) {
    v1::TenantSummary& message = *response.add_tenants();
    message.mutable_tenant()->set_name(ValidUtf8(each.name));
    if (!each.id.is_none()) message.mutable_tenant()->set_id(each.id.ToString());
    for (const std::string& name : each.namespaces) message.add_namespaces(ValidUtf8(name));
    message.set_attachments(each.attachments);
    message.set_remotes(each.remotes);
    for (const std::string& rail : each.rails) message.add_rails(rail);
    message.set_configured(each.configured);
    message.set_vlan(each.vlan);
  }
  return response;
}

v1::ListFlowsResponse ToMessage(const inspect::Flows& flows) {
  v1::ListFlowsResponse response;
  response.set_datapath_problem(ValidUtf8(flows.datapath_problem));
  response.set_total(static_cast<uint32_t>(flows.total));
  if (flows.next != 0) response.set_next_page_token(std::to_string(flows.next));
  for (const inspect::AttachmentFlows& each : flows.attachments) {
    v1::AttachmentFlows& message = *response.add_attachments();
    *message.mutable_attachment() = ToMessage(each.shown);
    for (const ovs::RuleStats& stats : each.rules) {
      v1::RuleStats& rule = *message.add_rules();
      SetRule(rule, stats.rule);
      rule.set_packets(stats.packets);
      rule.set_bytes(stats.bytes);
    }
    for (const inspect::AttachmentMegaflow& found : each.megaflows) {
      v1::Megaflow& megaflow = *message.add_megaflows();
      megaflow.set_direction(found.direction == inspect::AttachmentMegaflow::Direction::kFromPod
                                 ? v1::Megaflow::FROM_POD
                                 : v1::Megaflow::TO_POD);
      megaflow.set_match(ValidUtf8(found.flow.match));
      megaflow.set_actions(ValidUtf8(found.flow.actions));
      megaflow.set_packets(found.flow.packets);
      megaflow.set_bytes(found.flow.bytes);
      megaflow.set_used(ValidUtf8(found.flow.used));
      megaflow.set_place(PlaceOf(found.flow.place));
      megaflow.set_why_not(ValidUtf8(found.why_not));
    }
    message.set_megaflows_total(static_cast<uint32_t>(each.megaflows_total));
  }
  return response;
}

v1::CheckResponse ToMessage(const std::vector<inspect::Checked>& checked) {
  v1::CheckResponse response;
  for (const inspect::Checked& each : checked) {
    v1::CheckedAttachment& message = *response.add_attachments();
    *message.mutable_attachment() = ToMessage(each.shown);
    for (const inspect::Problem& problem : each.problems) {
      message.add_problems(ValidUtf8(problem.what));
      v1::CheckProblem& detail = *message.add_details();
      detail.set_what(ValidUtf8(problem.what));
      detail.set_fix(ValidUtf8(problem.fix));
    }
  }
  return response;
}

v1::TraceResponse ToMessage(const inspect::Answer& answer) {
  v1::TraceResponse response;
  response.set_verdict(VerdictOf(answer.verdict));
  response.set_reason(ReasonOf(answer.reason));
  response.set_sentence(ValidUtf8(answer.sentence));
  response.set_advice(ValidUtf8(answer.advice));
  *response.mutable_source() = ToMessage(answer.source);
  response.set_packet(answer.way.packet);
  for (const inspect::Hop& hop : answer.way.hops) *response.add_steps() = ToMessage(hop);
  if (answer.deciding) response.set_deciding_step(static_cast<uint32_t>(*answer.deciding));
  response.set_megaflow(ValidUtf8(answer.way.megaflow));
  response.set_datapath_actions(ValidUtf8(answer.way.datapath_actions));
  for (const std::string& note : answer.notes) response.add_notes(ValidUtf8(note));
  response.set_fabric_path(ValidUtf8(answer.fabric_path));
  if (answer.back) {
    v1::ReturnPath& back = *response.mutable_back();
    back.set_admitted(answer.back->admitted);
    back.set_sentence(ValidUtf8(answer.back->sentence));
    back.set_packet(answer.back->way.packet);
    for (const inspect::Hop& hop : answer.back->way.hops) *back.add_steps() = ToMessage(hop);
    back.set_megaflow(ValidUtf8(answer.back->way.megaflow));
    back.set_datapath_actions(ValidUtf8(answer.back->way.datapath_actions));
  }
  return response;
}

v1::DoctorResponse ToMessage(const std::vector<inspect::Finding>& findings) {
  v1::DoctorResponse response;
  for (const inspect::Finding& each : findings) Fill(*response.add_findings(), each);
  response.set_checks(static_cast<uint32_t>(inspect::KindsOfFindings().size()));
  return response;
}

}  // namespace rail::raild
