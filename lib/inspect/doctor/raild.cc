#include "lib/inspect/doctor/subjects.h"

#include "lib/base/text.h"

namespace rail::inspect {
namespace {

constexpr uint64_t kLittleSpace = 64 << 20;  // bytes
constexpr int64_t kDay = 86400000;           // ms
constexpr int64_t kSoon = 14 * kDay;

class Raild : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    Record();
    LostRecord();
    Certificates();
    Parts();
  }

 private:
  static std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

  void Record() {
    // A raild that starts makes a record, or brings one of an earlier version to today's format.
    const bool made_by_start =
        facts_.start && facts_.record_error &&
        (facts_.record_error->code == Code::kNotFound || facts_.record_error->code == Code::kBusy);
    if (facts_.record_error && !made_by_start) {
      Find(Severity::kCritical, "record-unreadable", facts_.record_path,
           "the record cannot be read: " + facts_.record_error->message,
           "attachments can be neither made nor undone", RecordRemedy(*facts_.record_error));
    }
    if (facts_.record_file.there && (facts_.record_file.mode & 07) != 0) {
      Find(Severity::kWarning, "record-readable", facts_.record_path,
           "the record has mode " + Octal(facts_.record_file.mode) + ": everybody on the node can open it",
           "it names every pod of the node; writable, it decides what is undone",
           "`chmod 0600 " + facts_.record_path + "*`");
    }
    if (facts_.record_free_bytes && *facts_.record_free_bytes < kLittleSpace) {
      Find(Severity::kCritical, "record-no-space", facts_.record_path,
           fmt::format("the file system of {} has {} MB left", facts_.record_path,
                       *facts_.record_free_bytes >> 20),
           "an ADD that cannot be recorded is refused, a DEL cannot be finished",
           "`df -h " + FolderOf(facts_.record_path) + "` says which file system it is: make room there");
    }
  }

  // What the error says where it says it; for a damaged file the way of lib/state/FORMAT.md.
  std::string RecordRemedy(const Error& error) const {
    if (error.code != Code::kDamaged)
      return "mend what is named there; no pod can be attached or deleted before";
    return fmt::format(
        "`systemctl stop raild; mkdir {1}/damaged && mv {0}* {1}/damaged/ && systemctl start raild` begins a "
        "new record: pods that run keep what they have, but raild can repair none of it until each of them "
        "was deleted, so drain the node. What can be read of the old file, `sqlite3 {1}/damaged/state.db "
        ".dump` prints",
        facts_.record_path, FolderOf(facts_.record_path));
  }

  void LostRecord() {
    uint64_t pods = 0;
    std::string rails;
    for (const engine::RailView& rail : view_.rails) {
      if (rail.seen.unrecorded_pods() == 0) continue;
      pods += rail.seen.unrecorded_pods();
      Append(rails, ", ", fmt::format("{} on {}", rail.seen.unrecorded_pods(), rail.rail.name));
    }
    if (pods == 0) return;
    Find(
        Severity::kCritical, "record-lost", facts_.record_path,
        fmt::format("{} interfaces of pods live that the record does not know ({}): it was removed, emptied "
                    "or replaced",
                    pods, rails),
        "raild keeps what they have and can repair none of it; nothing else is removed on these rails either",
        "bring the file back, or drain the node; each pod that is deleted frees what it has");
  }

  void Certificates() {
    for (const CertificateFacts& each : facts_.certificates) {
      if (!each.validity) {
        Find(Severity::kCritical, "certificate-unreadable", each.path, each.validity.error().message,
             each.purpose + " is needed by everybody who connects over TCP",
             "put it back; it is read again at once");
        continue;
      }
      const Validity& validity = *each.validity;
      if (facts_.now_ms < validity.from_ms) {
        Find(Severity::kCritical, "certificate-not-yet-valid", each.path,
             fmt::format("{} becomes valid in {} h", each.purpose,
                         (validity.from_ms - facts_.now_ms) / 3600000 + 1),
             "every connection over TCP is refused until then",
             "is this node's clock right (`timedatectl`)? A clock that is behind is the usual reason");
      } else if (facts_.now_ms >= validity.until_ms) {
        Find(Severity::kCritical, "certificate-expired", each.path,
             fmt::format("{} expired {} days ago", each.purpose, (facts_.now_ms - validity.until_ms) / kDay),
             "every connection over TCP is refused", "renew it; the files are read again without a restart");
      } else if (validity.until_ms - facts_.now_ms < kSoon) {
        Find(Severity::kWarning, "certificate-expires-soon", each.path,
             fmt::format("{} expires in {} days", each.purpose, (validity.until_ms - facts_.now_ms) / kDay),
             "then every connection over TCP is refused",
             "renew it; the files are read again without a restart");
      }
    }
  }

  void OtherCluster(const std::string& problem) {
    Find(Severity::kCritical, "cluster-name-taken", config::kNodeFile, problem,
         "tenants of one name have one id in both clusters: raild does not learn what the other one "
         "announces, and a node that follows no labels (kubernetes.tenants) cannot tell the two apart",
         "give one of the two clusters another name: `cluster` in its node.json, on its nodes one after the "
         "other as UPGRADE.md says");
  }

  void Parts() {
    for (const engine::Health& health : view_.health) {
      if (health.ok || health.part == engine::Part::kNodeFile)
        continue;  // a file that raild does not take is found by itself
      if (health.part == engine::Part::kCluster) {
        OtherCluster(health.problem);
        continue;
      }
      Find(Severity::kWarning, "part-failing", engine::ToText(health.part),
           fmt::format("raild cannot put it right: {} ({} rounds so far)", health.problem, health.failures),
           "what is broken there stays broken",
           "the reason is what has to be mended; raild tries again by itself");
      OfAspect(std::string(engine::NameOf(health.part.part)));
      OfRail(health.part.rail);
    }
  }
};

}  // namespace

void ExamineRaild(const NodeFacts& facts, std::vector<Finding>& found) {
  Raild(facts, found).Run();
}

}  // namespace rail::inspect
