// Converts messages of rail.v1 to rows of tables. A row has all columns; those that only -o wide shows are named beside the header.
// A cell that is a list has its first entry and how many more there are ("10.0.1.2,+1"), with -o wide all of them.
//
// Use:      Table table(AttachmentHeader(), {.hidden = kAttachmentWide});  table.Add(AttachmentRow(attachment, now_ms));
// Threads:  any thread
// Units:    now_ms is Unix time in milliseconds
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "rail/v1/node.pb.h"

namespace rail::railctl {

using Row = std::vector<std::string>;
using Columns = std::set<std::string>;
enum class Lists { kShort, kWhole };

// The columns that only -o wide shows, so that a line of the others fits into kWidth characters.
constexpr size_t kWidth = 120;
extern const Columns kAttachmentWide;
extern const Columns kRailWide;
extern const Columns kRemoteWide;
extern const Columns kTenantWide;
extern const Columns kRuleWide;
extern const Columns kMegaflowWide;

Row AttachmentHeader();
Row AttachmentRow(const v1::Attachment& attachment, int64_t now_ms, Lists lists = Lists::kShort);
// "Ready", "Adding", ...: the column STATE, here and of a rail.
std::string State(const v1::Attachment& attachment);
std::string State(const v1::Rail& rail);
Row RailHeader();
Row RailRow(const v1::Rail& rail);
// "same-leaf", "same-unit", ...; "": not known.
// "3/1": plane 1 of rail 3.
std::string PlaneText(uint32_t rail, uint32_t plane);
std::string DistanceText(v1::Distance distance);
// The VLANs of a rail, in mode vrf.
Row VlanHeader();
Row VlanRow(const v1::RailVlan& vlan);
Row RemoteHeader();
Row RemoteRow(const v1::Remote& remote);
Row NodeHeader();
Row NodeRow(const v1::NodeInfo& node, int64_t now_ms);
// The links of the front end.
Row FrontendHeader();
Row FrontendRow(const v1::NodeInfo& node, const v1::FrontendLink& link);
Row HealthHeader();
Row HealthRow(const v1::HealthPart& part);

Row TenantHeader();
Row TenantRow(const v1::TenantSummary& tenant, Lists lists = Lists::kShort);
Row RuleHeader();
Row RuleRow(const v1::Attachment& attachment, const v1::RuleStats& rule);
Row MegaflowHeader();
Row MegaflowRow(const v1::Attachment& attachment, const v1::Megaflow& flow);
Row CheckHeader();
std::vector<Row> CheckRows(
    const v1::CheckedAttachment& checked);  // one for each problem, or one that says ok
std::vector<std::string> CheckRemedies(
    const v1::CheckResponse& response);  // each once, in the order of the problems
// Two lines: the meaning of a rule for the packet, and the rule.
std::string StepText(const v1::TraceStep& step, bool decides);

// In one or two units, as kubectl writes ages: "119s", "9m59s", "179m", "7h59m", "47h", "7d23h", "8d".
std::string Age(int64_t since_ms, int64_t now_ms);

}  // namespace rail::railctl
