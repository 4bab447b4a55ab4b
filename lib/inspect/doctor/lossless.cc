#include "lib/inspect/doctor/subjects.h"

namespace rail::inspect {
namespace {

// lib/qos compares; each difference is a finding.
class Lossless : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    for (const auto& [rail, seen] : facts_.rails) {
      for (const qos::Difference& each : seen.lossless)
        Find(Severity::kWarning, each.id, rail, each.what, each.why, each.fix);
    }
  }
};

}  // namespace

void ExamineLossless(const NodeFacts& facts, std::vector<Finding>& found) {
  Lossless(facts, found).Run();
}

}  // namespace rail::inspect
