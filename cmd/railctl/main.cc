#include <exception>
#include <iostream>

#include "cmd/railctl/flags.h"
#include "cmd/railctl/railctl.h"
#include "lib/base/clock.h"
#include "lib/config/node_config.h"
#include "lib/printing/color.h"

int main(int argc, char** argv) {
  using namespace rail;
  try {
    railctl::Parsed parsed =
        railctl::ParseFlags({argv + 1, argv + argc}, config::Paths::FromEnvironment().socket);
    if (!parsed.flags) {
      (parsed.exit_code == railctl::kDone ? std::cout : std::cerr) << parsed.text;
      return parsed.exit_code;
    }
    parsed.flags->color = printing::ColorWanted();
    return railctl::Run(*parsed.flags, std::cout, std::cerr, UnixMs);
  } catch (const std::exception& error) {
    std::cerr << "railctl: a bug, please report it: " << error.what() << '\n';
    return railctl::kFailed;
  }
}
