// What the loss of a session between a node and a leaf comes to, judged from what raild of each node says, and when. No I/O.
//
// Use:      FailureJudge judge(subjects);   judge.SawRails(0.5, "n1", rails);   ...   for (Book::Found& found : judge.Verdicts(60)) ...
//           if (judge.AskDoctor("n1")) judge.SawFindings("n1", ...);   // what is to be asked, the judge says
// Threads:  one at a time
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cmd/railctl/accept/book.h"
#include "lib/base/error.h"
#include "rail/v1/node.pb.h"

namespace rail::accept {

class FailureJudge {
 public:
  // A rail of a node, as it was before.
  struct Subject {
    std::string node;
    std::string rail;
    std::string pair;                 // of pods, between which an echo passes there
    std::set<std::string> addresses;  // of the stage's pods there
    Status control;                   // why it says nothing, as it was broken before
    std::set<std::string> findings;   // ids of those that cut the rail off before
  };
  explicit FailureJudge(std::vector<Subject> subjects);

  // `at`: seconds from the beginning. The first answers of each node are those of before.
  void SawRails(double at, const std::string& node, const v1::ListRailsResponse& rails);
  void SawRemotes(double at, const std::string& node, const std::string& rail,
                  const std::set<std::string>& addresses);
  void SawFindings(double at, const std::string& node, const Result<v1::DoctorResponse>& found);
  void SawEcho(double at, const std::string& node, const std::string& rail, const Status& passed);

  // The rails whose remotes the node is to be asked for.
  std::vector<std::string> RemotesOf(const std::string& node) const;
  // Whether to ask the node's doctor. It counts as asked from here to SawFindings.
  bool AskDoctor(const std::string& node);
  // The rail of the node where an echo is to pass.
  std::optional<std::string> EchoOf(const std::string& node) const;
  // Whenever it has grown, all nodes are to be looked at again.
  uint64_t changes() const { return changes_; }
  // Something has failed, and all of it is back.
  bool IsDone() const;

  // `seconds`: how long was watched.
  std::vector<Book::Found> Verdicts(double seconds) const;

 private:
  struct Fault {
    double down = 0;
    bool lost_carrier = false;
    std::optional<double> carrier;       // it is back
    std::optional<double> up;            // the session is Established again
    std::string problem;                 // of the session
    std::map<std::string, double> gone;  // when the other nodes had lost its addresses
    std::set<std::string> back;          // which have them again
    std::optional<double> unhealthy, healthy;
    std::string device_problem;
    std::optional<double> told;
    std::string finding;  // or why the doctor has named none
    std::optional<double> echoed;
    std::string echo;
  };
  struct Watched {
    Subject subject;
    std::optional<v1::Rail> before;
    bool connected = false;
    std::map<std::string, bool> knew;  // whether the other nodes had its addresses before
    std::optional<Fault> fault;

    bool IsBackEverywhere() const;
    double Lasted(double seconds) const;
    std::string Where() const;
    Attempt Withdrawn(double seconds) const;
    Attempt Devices(double seconds) const;
    Attempt Told(double seconds) const;
    Attempt Back() const;
  };
  void Note(Watched& watched, double at, const v1::Rail& rail);

  std::vector<Watched> watched_;
  std::map<std::string, bool> asked_;  // nodes whose doctor is asked, and whether more has happened meanwhile
  uint64_t changes_ = 0;
};

}  // namespace rail::accept
