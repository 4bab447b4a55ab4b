#include "lib/base/folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace rail {

Status MakeFolder(const std::string& path, mode_t mode) {
  const std::string doing = "make the folder " + path;
  const std::filesystem::path folder(path);
  std::error_code error;
  if (path.empty() || std::filesystem::is_directory(folder, error)) return {};
  if (folder.has_parent_path() && folder.parent_path() != folder)
    RAIL_TRY(MakeFolder(folder.parent_path().string(), mode));
  if (::mkdir(folder.c_str(), mode) != 0) {
    const int number = errno;
    // Another process was faster.
    if (number == EEXIST && std::filesystem::is_directory(folder, error)) return {};
    return FailErrno(number, doing);
  }
  // The umask may have taken away what the group needs.
  if (::chmod(folder.c_str(), mode) != 0) return FailErrno(errno, doing + ": set its mode");
  return {};
}

Result<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error))
    names.push_back(each->path().filename());
  if (error) return FailErrno(error.value(), "list the folder " + folder);
  std::ranges::sort(names);
  return names;
}

}  // namespace rail
