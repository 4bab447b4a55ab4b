// railctl against a served node, in the same process.
#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cmd/railctl/railctl.h"
#include "test/api/served.h"

namespace rail {

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class RailctlTest : public Served {
 protected:
  // Two minutes after the sample attachments were made.
  static int64_t Now() { return kStartedMs + 180000; }

  Ran Run(std::vector<std::string> arguments) const {
    const railctl::Parsed parsed = railctl::ParseFlags(std::move(arguments), socket_);
    if (!parsed.flags) return {parsed.exit_code, "", parsed.text};
    std::ostringstream out;
    std::ostringstream err;
    const int code = railctl::Run(*parsed.flags, out, err, Now);
    return {code, out.str(), err.str()};
  }

  std::string Out(std::vector<std::string> arguments) const {
    const Ran ran = Run(std::move(arguments));
    EXPECT_EQ(ran.exit_code, railctl::kDone) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }
};

}  // namespace rail
