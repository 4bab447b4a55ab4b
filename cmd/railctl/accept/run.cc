#include "cmd/railctl/accept/run.h"

#include <algorithm>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/churn.h"
#include "cmd/railctl/accept/configuration.h"
#include "cmd/railctl/accept/diff.h"
#include "cmd/railctl/accept/failure.h"
#include "cmd/railctl/accept/isolation.h"
#include "cmd/railctl/accept/junit.h"
#include "cmd/railctl/accept/kubernetes_pods.h"
#include "cmd/railctl/accept/offload.h"
#include "cmd/railctl/accept/page.h"
#include "cmd/railctl/accept/plan.h"
#include "cmd/railctl/accept/progress.h"
#include "cmd/railctl/accept/qos.h"
#include "cmd/railctl/accept/report.h"
#include "cmd/railctl/accept/restarts.h"
#include "cmd/railctl/accept/speed.h"
#include "lib/base/text.h"
#include "lib/base/whole_file.h"

namespace rail::accept {
namespace {

constexpr const char* kChurn = "churn";  // with pods of the run nobody has to do anything

// How often a pod comes and goes on each node.
uint32_t TimesOf(const Options& options) {
  return options.quick ? 3 : 10;
}

struct Group {
  const char* name;
  void (*check)(const Stage& stage, const Options& options, std::ostream& err, Book& book);
  // Of one for which somebody has to do something: for how long, by which flag, and what.
  uint32_t Options::* seconds = nullptr;
  const char* flag = "";
  const char* what = "";
};
constexpr Group kGroups[] = {
    {"configuration",
     [](const Stage& stage, const Options&, std::ostream&, Book& book) { CheckConfiguration(stage, book); }},
    {"isolation",
     [](const Stage& stage, const Options&, std::ostream&, Book& book) { CheckIsolation(stage, book); }},
    {"qos", [](const Stage& stage, const Options&, std::ostream&, Book& book) { CheckQos(stage, book); }},
    {"offload",
     [](const Stage& stage, const Options&, std::ostream&, Book& book) { CheckOffload(stage, book); }},
    {"speed", [](const Stage& stage, const Options& options, std::ostream&,
                 Book& book) { CheckSpeed(stage, options.quick, book); }},
    {"restart",
     [](const Stage& stage, const Options& options, std::ostream& err, Book& book) {
       CheckRestarts(stage, options.restarts, err, book);
     },
     &Options::restarts, "--restarts", "restart daemons"},
    {"failure",
     [](const Stage& stage, const Options& options, std::ostream& err, Book& book) {
       CheckFailure(stage, options.failure, err, book);
     },
     &Options::failure, "--failure", "take a leaf's port down and up"},
    {kChurn,
     [](const Stage& stage, const Options& options, std::ostream& err, Book& book) {
       CheckChurn(stage, {.times = TimesOf(options), .seconds = options.churn}, err, book);
     },
     &Options::churn, "--churn", "attach and detach pods"},
};

// Whether nobody is there who does what the group measures.
bool IsLeftOut(const Group& group, const Options& options) {
  return group.seconds != nullptr && options.*group.seconds == 0 &&
         !(options.kubernetes && group.name == std::string_view(kChurn));
}

// A file of a report, or a log whose last line is one.
Result<v1::AcceptReport> ReadReport(const std::string& path) {
  RAIL_ASSIGN(std::string text, ReadWhole(path));
  const size_t last = text.rfind("\n{\"");
  if (last != std::string::npos) text = text.substr(last + 1, text.find('\n', last + 1) - last - 1);
  auto report = ParseReport(text);
  if (!report) return FailWrapped(report.error(), path);
  return report;
}

Status Save(const v1::AcceptReport& report, const Options& options) {
  for (const auto& [path, text_of] :
       {std::pair(&options.json_file, &AsJson), std::pair(&options.junit_file, &AsJunit),
        std::pair(&options.page_file, &AsPage)}) {
    if (!path->empty()) RAIL_TRY(WriteWhole(*path, text_of(report), 0644));
  }
  return {};
}

void Print(const v1::AcceptReport& report, const Options& options, const Terminal& terminal) {
  if (options.json) {
    terminal.out << AsJson(report);
    return;
  }
  PrintReport(report, printing::Painter(terminal.color), terminal.out);
  // Of a pod its log alone stays.
  if (options.kubernetes) terminal.out << AsJsonLine(report) << std::endl;
}

Status CheckOptions(const Options& options) {
  for (const std::string& wanted : options.only) {
    const auto names = [&](const CheckKind& kind) { return wanted == kind.id || wanted == GroupOf(kind.id); };
    if (std::ranges::none_of(AllChecks(), names))
      return Fail(Code::kInvalid, "--only: there is no group and no check " + wanted +
                                      "; there are the groups " + Join(Groups(), ", ") +
                                      ", and in them the checks " + Join(AllChecks(), ", ", &CheckKind::id));
  }
  for (const Group& group : kGroups) {
    if (IsLeftOut(group, options) &&
        std::ranges::find(options.only, group.name, GroupOf) != options.only.end())
      return Fail(Code::kInvalid, std::string("--only ") + group.name + " needs " + group.flag +
                                      " SECONDS: for so long you " + group.what);
  }
  if (options.resume && options.json_file.empty())
    return Fail(Code::kInvalid, "--resume needs --json-file: the report that the stopped run has left");
  return {};
}

// The groups that are named, or of which a check is.
std::vector<std::string> GroupsOf(const Options& options) {
  auto groups = Groups();
  for (const Group& group : kGroups)
    if (IsLeftOut(group, options)) std::erase(groups, group.name);
  const auto& only = options.only;
  if (only.empty()) return groups;
  std::erase_if(groups, [&](const std::string& group) {
    return std::ranges::find(only, group, GroupOf) == only.end();
  });
  return groups;
}

// With `resume`: what the stopped run has left.
Result<v1::AcceptReport> Begin(const Options& options, const Stage& stage, const Terminal& terminal) {
  v1::AcceptReport report;
  if (options.resume) {
    RAIL_ASSIGN(report, ReadReport(options.json_file));
    return report;
  }
  report.set_schema(kSchema);
  report.set_version(RAIL_VERSION);
  report.mutable_started()->set_seconds(terminal.now_ms() / 1000);
  for (const auto& node : stage.nodes()) {
    auto& named = *report.add_nodes();
    named.set_name(node->name);
    (*named.mutable_versions())["raild"] = node->info.version();
    for (const v1::Rail& rail : node->rails) named.add_leaves(LeafOf(rail));
  }
  return report;
}

void PrintSteps(const Size& size, const Options& options, const Terminal& terminal) {
  const auto wanted = GroupsOf(options);
  auto steps = PlanOf(size, options.quick,
                      {.restarts = options.restarts,
                       .failure = options.failure,
                       .churn = options.churn,
                       .pods = options.kubernetes ? TimesOf(options) : 0});
  std::erase_if(steps,
                [&](const Step& step) { return std::ranges::find(wanted, step.group) == wanted.end(); });
  PrintPlan(size, steps, terminal.out);
}

Result<int> RunOn(const Cast& cast, const Options& options, const Terminal& terminal) {
  RAIL_ASSIGN(const Stage stage, Stage::Open(cast));
  const auto wanted = GroupsOf(options);
  if (options.plan) {
    PrintSteps(SizeOf(stage), options, terminal);
    return 0;
  }
  RAIL_ASSIGN(v1::AcceptReport report, Begin(options, stage, terminal));
  Progress progress(terminal.err, terminal.moving, wanted.size());
  Book book(report, options.only, [&](const std::string& what) { progress.Say(what); });
  const int64_t began = terminal.now_ms();
  const double before = report.seconds();
  for (const Group& group : kGroups) {
    if (std::ranges::find(wanted, group.name) == wanted.end()) continue;
    progress.Begin(group.name);
    if (!(options.resume && book.IsDone(group.name))) {
      book.Begin(group.name);
      group.check(stage, options, terminal.err, book);
      book.End(group.name);
    }
    progress.End(report);
    report.set_seconds(before + static_cast<double>(terminal.now_ms() - began) / 1000);
    RAIL_TRY(Save(report, options));
  }
  Print(report, options, terminal);
  return ExitCodeOf(report);
}

// Errors of taking the pods away do not change what the run has shown: they go by themselves.
Result<int> RunInKubernetes(const Options& options, const Terminal& terminal) {
  BlockSignals();
  RAIL_ASSIGN(const auto pods, KubernetesPods::Find({options.nodes, options.networks}));
  if (options.plan) {
    PrintSteps(SizeOf(pods->nodes().size(), pods->networks().size()), options, terminal);
    return 0;
  }
  RAIL_ASSIGN(const Cast cast, pods->Make(terminal.err));
  auto exit_code = RunOn(cast, options, terminal);
  if (const Status removed = pods->Remove(); !removed)
    terminal.err << "railctl: " << removed.error().message << "; they go by themselves within 3 minutes\n";
  return exit_code;
}

}  // namespace

std::vector<std::string> Groups() {
  std::vector<std::string> names;
  for (const Group& group : kGroups) names.emplace_back(group.name);
  return names;
}

Result<int> Run(const Options& options, const Terminal& terminal) {
  RAIL_TRY(CheckOptions(options));
  if (options.kubernetes) return RunInKubernetes(options, terminal);
  RAIL_ASSIGN(const Cast cast, ReadCast(options.stage));
  return RunOn(cast, options, terminal);
}

Result<int> RunShow(const std::string& path, const Options& options, const Terminal& terminal) {
  RAIL_ASSIGN(const v1::AcceptReport report, ReadReport(path));
  RAIL_TRY(Save(report, options));
  Print(report, options, terminal);
  return ExitCodeOf(report);
}

Result<int> RunDiff(const std::string& before, const std::string& after, const printing::Painter& paint,
                    std::ostream& out) {
  RAIL_ASSIGN(const v1::AcceptReport old_report, ReadReport(before));
  RAIL_ASSIGN(const v1::AcceptReport new_report, ReadReport(after));
  const auto differences = Compare(old_report, new_report);
  PrintDifferences(differences, paint, out);
  return IsWorse(differences) ? 1 : 0;
}

}  // namespace rail::accept
