// A cause is printed with one line of what follows from it, or with all of it.
#include "lib/printing/findings.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rail::printing {
namespace {

v1::Finding Make(v1::Finding::Severity severity, const std::string& id, const std::string& subject) {
  v1::Finding finding;
  finding.set_severity(severity);
  finding.set_id(id);
  finding.set_subject(subject);
  finding.set_what("is\nbroken");
  finding.set_why("it hurts");
  finding.set_fix("mend it");
  return finding;
}

v1::DoctorResponse DaemonAndSession() {
  v1::DoctorResponse found;
  found.set_checks(70);
  v1::Finding& daemon = *found.add_findings() = Make(v1::Finding::CRITICAL, "vswitchd-down", "ovs-vswitchd");
  *daemon.add_follows() = Make(v1::Finding::CRITICAL, "no-leaf-neighbour", "rail0");
  *daemon.mutable_follows(0)->add_follows() = Make(v1::Finding::CRITICAL, "bgp-session-down", "rail0");
  daemon.set_follows_in_short("1 session, 1 rail");
  daemon.mutable_follows(0)->set_follows_in_short("1 session");
  *found.add_findings() = Make(v1::Finding::INFO, "rdma-missing", "kernel");
  return found;
}

std::string Text(const v1::DoctorResponse& found, Unfold unfold) {
  std::ostringstream out;
  PrintFindings(found, unfold, out);
  return out.str();
}

TEST(Findings, FoldsWhatFollowsIntoOneLine) {
  EXPECT_EQ(Text(DaemonAndSession(), Unfold::kCauses), R"(CRITICAL vswitchd-down: ovs-vswitchd
  what: is broken
  why:  it hurts
  do:   mend it
  follows: 1 session, 1 rail (`railctl doctor --all` shows them)

INFO rdma-missing: kernel
  what: is broken
  why:  it hurts
  do:   mend it

1 critical, 0 warnings, 1 for information, and 2 that follow; looked for 70 kinds of findings
)");
}

TEST(Findings, UnfoldsEveryLevelBelowItsCause) {
  EXPECT_EQ(Text(DaemonAndSession(), Unfold::kAll), R"(CRITICAL vswitchd-down: ovs-vswitchd
  what: is broken
  why:  it hurts
  do:   mend it
  follows: 1 session, 1 rail
    CRITICAL no-leaf-neighbour: rail0
      what: is broken
      why:  it hurts
      do:   mend it
      follows: 1 session
        CRITICAL bgp-session-down: rail0
          what: is broken
          why:  it hurts
          do:   mend it

INFO rdma-missing: kernel
  what: is broken
  why:  it hurts
  do:   mend it

1 critical, 0 warnings, 1 for information, and 2 that follow; looked for 70 kinds of findings
)");
}

TEST(Findings, AreWrongFromAWarningOn) {
  v1::DoctorResponse found;
  EXPECT_FALSE(FindsWrong(found));
  *found.add_findings() = Make(v1::Finding::INFO, "rdma-missing", "kernel");
  EXPECT_FALSE(FindsWrong(found));
  *found.add_findings() = Make(v1::Finding::WARNING, "hw-offload-off", "Open vSwitch");
  EXPECT_TRUE(FindsWrong(found));
}

}  // namespace
}  // namespace rail::printing
