#include "lib/netlink/testing/scratch.h"

#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

namespace rail::netns::testing {

Netns MakeScratch() {
  std::optional<Netns> made;
  Status status;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      status = FailErrno(errno, "make a network namespace");
    } else if (auto current = Netns::Current()) {
      made = std::move(*current);
    } else {
      status = tl::make_unexpected(current.error());
    }
  }).join();
  if (!made) {
    std::fprintf(stderr, "this test needs root: %s\n", status.error().message.c_str());
    std::exit(1);
  }
  return std::move(*made);
}

Status Shell(const Netns& where, const std::string& command) {
  // A child process starts in the namespace of the thread that makes it.
  return where.Run([&]() -> Status {
    if (std::system(command.c_str()) == 0) return {};
    return Fail(Code::kInternal, "failed: " + command);
  });
}

}  // namespace rail::netns::testing
