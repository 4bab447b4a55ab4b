#include <map>
#include <nlohmann/json.hpp>

#include "cmd/railctl/commands.h"
#include "lib/base/text.h"

namespace rail::railctl {
namespace {

// What `status` asks for; the doctor comes last, because it alone takes time.
struct Answers {
  v1::GetNodeResponse node;
  v1::ListRailsResponse rails;
  v1::ListAttachmentsResponse attachments;
  uint32_t remotes = 0;
};

Result<Answers> AskAll(const Context& context) {
  Answers answers;
  Client& client = context.client;
  RAIL_ASSIGN(answers.node, client.Ask(&v1::Node::Stub::GetNode));
  RAIL_ASSIGN(answers.rails, client.Ask(&v1::Node::Stub::ListRails));
  RAIL_ASSIGN(answers.attachments, client.Ask(&v1::Node::Stub::ListAttachments));
  RAIL_ASSIGN(answers.remotes, client.CountRemotes(""));
  return answers;
}

void PrintNode(const Context& context, const v1::NodeInfo& node) {
  const Row row = RowOf(node, StyleOf(context));
  context.out << "node " << OneLine(row[0]) << ": raild " << row[1] << ", up for " << row[2] << ", BMP "
              << row[3] << ", RDMA " << row[4] << ", " << row[5] << " repairs\n";
  for (const v1::HealthPart& part : node.health()) {
    if (!part.ok()) {
      context.out << "part " << OneLine(part.part()) << ' ' << Painter(context.flags.color)("failed") << ": "
                  << OneLine(part.problem()) << '\n';
    }
  }
}

void PrintRails(const Context& context, const Answers& answers) {
  std::map<std::string, std::pair<int, int>> of_rail;  // attachments: Ready, all
  for (const v1::Attachment& a : answers.attachments.attachments()) {
    auto& [ready, all] = of_rail[a.rail()];
    ++all;
    if (a.state() == v1::Attachment::STATE_READY) ++ready;
  }
  Table table = MakeTable(
      context, {.header = {"RAIL", "STATE", "BGP", "LEAF-MAC", "RULES", "ATTACHMENTS READY"}, .wide = {}});
  for (const v1::Rail& rail : answers.rails.rails()) {
    const auto& [ready, all] = of_rail[rail.name()];
    table.Add({rail.name(), WordOf(rail.state()), rail.bgp_state(), rail.leaf_mac(), CellOf(rail, "RULES"),
               std::to_string(ready) + "/" + std::to_string(all)});
  }
  table.Print(context.out);
}

std::string CountStates(const v1::ListAttachmentsResponse& response) {
  std::map<std::string, int> states;
  int without_rules = 0;
  for (const v1::Attachment& a : response.attachments()) {
    ++states[WordOf(a.state())];
    if (a.state() == v1::Attachment::STATE_READY && !a.rules_in_place()) ++without_rules;
  }
  std::string text = std::to_string(response.attachments_size());
  const auto in_words = [](const auto& each) { return std::to_string(each.second) + " " + each.first; };
  if (!states.empty()) text += ": " + Join(states, ", ", in_words);
  if (without_rules > 0) text += "; " + std::to_string(without_rules) + " Ready ones lack rules";
  return text;
}

Status PrintAsJson(const Context& context, const Answers& answers, const v1::DoctorResponse& doctor) {
  RAIL_ASSIGN(Json json, ToJson(answers.node));
  RAIL_ASSIGN(const Json rails, ToJson(answers.rails));
  RAIL_ASSIGN(const Json attachments, ToJson(answers.attachments));
  RAIL_ASSIGN(const Json found, ToJson(doctor));
  json.update(rails);
  json.update(attachments);
  json["remotes"] = answers.remotes;
  json.update(found);
  context.out << Text(json, Layout::kIndented) << '\n';
  return {};
}

}  // namespace

ExitCode ShowStatus(const Context& context) {
  RAIL_ASSIGN(const Answers answers, AskAll(context));
  const bool as_json = AsJson(context);
  if (!as_json) {
    PrintNode(context, answers.node.node());
    context.out << '\n';
    PrintRails(context, answers);
    context.out << "\nattachments: " << CountStates(answers.attachments) << '\n'
                << "remotes:     " << answers.remotes << " known\n";
    context.out.flush();  // what is known is on the screen while the doctor looks
  }
  RAIL_ASSIGN_AS(const v1::DoctorResponse doctor, context.client.Ask(&v1::Node::Stub::Doctor),
                 "the doctor's findings are not known");
  if (as_json) {
    RAIL_TRY(PrintAsJson(context, answers, doctor));
  } else {
    context.out << "findings:    " << CountFindings(doctor)
                << (doctor.findings().empty() ? "" : "; the worst:") << '\n';
    if (!doctor.findings().empty()) {
      context.out << '\n';
      PrintFinding(doctor.findings(0), Unfold::kCauses, context.out, Painter(context.flags.color));
      if (doctor.findings_size() > 1) context.out << "\n`railctl doctor` shows the others.\n";
    }
  }
  return FindsWrong(doctor) ? kFailed : kDone;
}

}  // namespace rail::railctl
