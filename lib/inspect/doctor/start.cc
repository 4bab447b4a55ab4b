#include "lib/inspect/doctor/subjects.h"

namespace rail::inspect {
namespace {

class Start : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    if (facts_.config_error) {
      Unreadable(*facts_.config_error);
    } else if (!facts_.config_changes.empty()) {
      Newer();
    }
    if (facts_.start && !facts_.start->runs) Down(*facts_.start);
  }

 private:
  // Why raild does not run by the file as it is; "": it has not said so.
  std::string Problem() const {
    const auto part =
        std::ranges::find(view_.health, engine::PartId(engine::Part::kNodeFile), &engine::Health::part);
    return part == view_.health.end() ? "" : part->problem;
  }

  void Unreadable(const Error& error) {
    Find(Severity::kCritical, "config-unreadable", config::kNodeFile, error.message,
         "the plugins refuse every pod, and a raild that starts now ends at once; one that runs goes on by "
         "what it had read",
         "mend what is named there (`raild --check-config` says whether it is right) and save the file; a "
         "raild that runs takes it by itself");
  }

  void Newer() {
    const bool restart = std::ranges::any_of(facts_.config_changes, [](const config::Change& change) {
      return change.takes == config::Takes::kRestart;
    });
    const std::string problem = Problem();
    Find(Severity::kWarning, "config-newer-than-raild", config::kNodeFile,
         "node.json has other values than raild runs by: " + config::Keys(facts_.config_changes),
         "the plugins attach pods by the new ones, raild repairs by the old ones" +
             (problem.empty() ? "" : "; " + problem),
         restart ? "drain the node when pods on it may not be cut off, then `systemctl restart raild`, or "
                   "delete raild's pod; or put the old values back"
                 : "mend what is named there and save the file; if raild has said nothing, `systemctl "
                   "restart raild`, or delete its pod");
  }

  void Down(const StartFacts& start) {
    for (const Obstacle& each : start.obstacles) {
      Find(Severity::kCritical, "raild-cannot-start", each.subject, each.what,
           "raild ends at this step of its start, so nobody repairs this node, and it learns of no new pod",
           each.fix);
    }
    Find(Severity::kCritical, "raild-down", "raild", "raild does not run: nobody serves its sockets",
         "pods keep what they have, and pods start and end; but nothing is repaired, and pods that are new "
         "elsewhere cannot be reached",
         "`" + start.start + "`; why it has ended is in its log: `" + start.log + "`");
  }
};

}  // namespace

void ExamineStart(const NodeFacts& facts, std::vector<Finding>& found) {
  Start(facts, found).Run();
}

}  // namespace rail::inspect
