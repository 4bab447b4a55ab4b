// A folder for one test, with a path short enough for sockets.
//
// Use:      const TestFolder folder;   folder.path() + "/a.sock"
// Threads:  one at a time
// Owns:     the folder, and what is in it
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace rail::kubelet::testing {

class TestFolder {
 public:
  TestFolder() {
    if (::mkdtemp(path_.data()) != nullptr) return;
    std::perror("make a folder for a test");
    std::abort();
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  // The names in it that begin with `beginning`.
  std::vector<std::string> Names(const std::string& beginning) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().filename().string().starts_with(beginning)) names.push_back(entry.path().filename());
    }
    return names;
  }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "railcni-dp-XXXXXX").string();
};

}  // namespace rail::kubelet::testing
