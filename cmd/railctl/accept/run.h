// `railctl accept`: the groups of checks one after the other, what is kept of them, and what a run costs before it begins.
//
// Use:      const Outcome outcome = Run(options, {.out = std::cout, .err = std::cerr, .color = true, .now_ms = UnixMs});
// Threads:  one
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "cmd/railctl/accept/stage.h"
#include "lib/base/error.h"
#include "lib/printing/color.h"
#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

struct Options {
  std::string stage;                  // the file that names nodes and pods
  bool kubernetes = false;            // in place of a file: pods that the run makes (kubernetes_pods.h)
  std::vector<std::string> nodes;     // of these; empty: casting.h says which
  std::vector<std::string> networks;  // on these
  bool plan = false;                  // say what would be done, and how long it takes
  // Seconds in which somebody restarts daemons, takes a leaf's port down and up, attaches and detaches pods; 0: the group is left out.
  uint32_t restarts = 0;
  uint32_t failure = 0;
  uint32_t churn = 0;
  bool quick = false;             // as few pairs as tell who is to blame
  std::vector<std::string> only;  // groups and checks; empty: all
  std::string json_file;          // "": none; kept up to date after each group, so that a run can be resumed
  std::string junit_file;
  std::string page_file;
  bool resume = false;  // groups that json_file has are not run again
  bool json = false;    // in place of the table
};

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool color = false;
  bool moving = false;  // stderr is a terminal: one line that changes
  std::function<int64_t()> now_ms;
};

// The names of the groups, in the order in which they run.
std::vector<std::string> Groups();

// The exit status: 0 all passed; 1 something failed; 3 something could not be measured and nothing failed. Errors: kInvalid: the options, the file;
// those of asking the nodes and pods, before anything was tried.
Result<int> Run(const Options& options, const Terminal& terminal);

// Prints a report, and writes its other forms. `path`: its JSON file, or a log whose last line it is. The exit status as of the run.
// Errors: those of reading it.
Result<int> RunShow(const std::string& path, const Options& options, const Terminal& terminal);

// Prints what has changed between two reports (their JSON files). The exit status: 0 nothing is worse, 1 something is. Errors: those of reading them.
Result<int> RunDiff(const std::string& before, const std::string& after, const printing::Painter& paint,
                    std::ostream& out);

}  // namespace rail::accept
