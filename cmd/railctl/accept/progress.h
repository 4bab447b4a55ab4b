// How far a run is, on stderr: one line that changes on a terminal, else a line for each group that has ended.
//
// Use:      Progress progress(std::cerr, isatty(2), 5);
//           progress.Begin("isolation");  progress.Say("a1 against b1 on rail0");  progress.End(report);
// Threads:  one
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

class Progress {
 public:
  Progress(std::ostream& err, bool moving, size_t groups) : err_(err), moving_(moving), groups_(groups) {}

  void Begin(const std::string& group);
  void Say(const std::string& what);
  // `report`: with the checks of the group, whose failures are named.
  void End(const v1::AcceptReport& report);

 private:
  void Draw(const std::string& what);

  std::ostream& err_;
  const bool moving_;
  const size_t groups_;
  size_t done_ = 0;
  std::string group_;
  std::string failed_;  // checks
};

}  // namespace rail::accept
