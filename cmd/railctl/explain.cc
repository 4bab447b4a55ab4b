#include <algorithm>
#include <utility>

#include "cmd/railctl/commands.h"

namespace rail::railctl {
namespace {

// Two lines: the meaning of a rule for the packet, and the rule.
std::string StepText(const v1::TraceStep& s, bool decides) {
  std::string name = std::to_string(s.table()) + " " + s.table_name();
  name.resize(std::max<size_t>(name.size(), 13), ' ');
  const std::string words = (decides ? "> " : "  ") + name + "  " + s.words() + "\n" + std::string(19, ' ');
  if (!s.matched()) return words + "no rule matches\n";
  const v1::RuleStats& r = s.rule();
  return words + "priority=" + std::to_string(r.priority()) + (r.match().empty() ? "" : "," + r.match()) +
         " actions=" + r.actions() + " cookie=" + r.cookie() + " (" + r.kind() + ")\n";
}

void PrintTrace(const Context& context, const v1::TraceResponse& trace) {
  std::ostream& out = context.out;
  const v1::Attachment& source = trace.source();
  out << source.pod().namespace_() << '/' << source.pod().name() << ' ' << source.ifname() << " on "
      << source.rail() << " -> " << context.flags.destination << ": "
      << Painter(context.flags.color)(v1::TraceResponse::Verdict_Name(trace.verdict())) << " ("
      << v1::TraceResponse::Reason_Name(trace.reason()) << ")\n";
  const auto line = [&](const char* name, const std::string& text) {
    if (!text.empty()) out << name << OneLine(text) << '\n';
  };
  line("  why:      ", trace.sentence());
  line("  do:       ", trace.advice());
  for (const std::string& note : trace.notes()) line("  note:     ", note);
  line("  fabric:   ", trace.fabric_path());
  if (trace.has_back()) line("  answer:   ", trace.back().sentence());
  if (trace.steps_size() == 0) return;
  out << '\n';
  for (int i = 0; i < trace.steps_size(); ++i) {
    out << StepText(trace.steps(i),
                    trace.has_deciding_step() && static_cast<int>(trace.deciding_step()) == i);
  }
  out << '\n';
  line("  packet:   ", trace.packet());
  line("  megaflow: ", trace.megaflow());
  line("  actions:  ", trace.datapath_actions());
}

// One for each problem, or one that says ok.
std::vector<Row> CheckRows(const v1::CheckedAttachment& checked) {
  std::vector<Row> rows;
  for (const std::string& problem : checked.problems())
    rows.push_back(RowAbout(checked.attachment(), {"failed", problem}));
  if (rows.empty()) rows.push_back(RowAbout(checked.attachment(), {"ok", ""}));
  return rows;
}

// Each once, in the order of the problems.
std::vector<std::string> CheckRemedies(const v1::CheckResponse& response) {
  std::vector<std::string> remedies;
  for (const v1::CheckedAttachment& each : response.attachments()) {
    for (const v1::CheckProblem& problem : each.details()) {
      if (!problem.fix().empty() && std::ranges::find(remedies, problem.fix()) == remedies.end())
        remedies.push_back(problem.fix());
    }
  }
  return remedies;
}

}  // namespace

ExitCode Check(const Context& context) {
  v1::CheckRequest request;
  *request.mutable_selector() = Meant<v1::AttachmentSelector>(context.flags);
  RAIL_ASSIGN(v1::CheckResponse response, context.client.Ask(&v1::Node::Stub::Check, request));
  int exit_code = kDone;
  for (const v1::CheckedAttachment& each : response.attachments()) {
    if (each.problems_size() > 0) exit_code = kFailed;
  }
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
    return exit_code;
  }
  std::ranges::stable_sort(*response.mutable_attachments(), Before, &v1::CheckedAttachment::attachment);
  Table table = MakeTable(context, Columns{.header = {"CHECK", "PROBLEM"}, .wide = {}}.OfAttachment());
  for (const v1::CheckedAttachment& each : response.attachments()) {
    for (Row& row : CheckRows(each)) table.Add(std::move(row));
  }
  table.Print(context.out);
  for (const std::string& remedy : CheckRemedies(response)) context.out << "do: " << remedy << '\n';
  return exit_code;
}

ExitCode Trace(const Context& context) {
  const Flags& flags = context.flags;
  v1::TraceRequest request;
  *request.mutable_source() = Meant<v1::AttachmentSelector>(flags);
  request.set_destination(flags.destination);
  request.set_protocol(flags.protocol == "tcp"    ? v1::TraceRequest::TCP
                       : flags.protocol == "icmp" ? v1::TraceRequest::ICMP
                                                  : v1::TraceRequest::UDP);
  request.set_destination_port(flags.port);
  request.set_source_address(flags.as_address);
  request.set_source_mac(flags.as_mac);
  RAIL_ASSIGN(v1::TraceResponse response, context.client.Ask(&v1::Node::Stub::Trace, request));
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
  } else {
    PrintTrace(context, response);
  }
  return response.verdict() == v1::TraceResponse::REACHES ? kDone : kFailed;
}

ExitCode Doctor(const Context& context) {
  RAIL_ASSIGN(v1::DoctorResponse response, context.client.Ask(&v1::Node::Stub::Doctor));
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
  } else {
    PrintFindings(response, context.flags.unfold ? Unfold::kAll : Unfold::kCauses, context.out,
                  Painter(context.flags.color));
  }
  return FindsWrong(response) ? kFailed : kDone;
}

}  // namespace rail::railctl
