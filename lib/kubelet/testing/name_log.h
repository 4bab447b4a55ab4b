// The names that appear in folders ("+a") and go ("-a"), in their order; hidden ones are left out.
//
// Use:      NameLog names({folder, other});   ...   EXPECT_THAT(names.Take(), ElementsAre("+a", "-a"));
// Threads:  one at a time
// Owns:     an inotify descriptor
#pragma once

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "lib/base/fd.h"

namespace rail::kubelet::testing {

class NameLog {
 public:
  explicit NameLog(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders)
      EXPECT_GT(::inotify_add_watch(inotify_.get(), folder.c_str(), IN_CREATE | IN_MOVED_TO | IN_DELETE), 0);
  }
  // Those since the last call.
  std::vector<std::string> Take() {
    std::vector<std::string> names;
    alignas(inotify_event) char buffer[4096];
    for (ssize_t size; (size = ::read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        at += static_cast<ssize_t>(sizeof *event + event->len);
        if (event->name[0] != '.')
          names.push_back(((event->mask & IN_DELETE) != 0 ? "-" : "+") + std::string(event->name));
      }
    }
    return names;
  }

 private:
  const Fd inotify_{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
};

}  // namespace rail::kubelet::testing
