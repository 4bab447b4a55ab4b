#include "lib/base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "lib/base/fd.h"

namespace rail {
namespace {

Status WriteAll(int fd, std::string_view text, const std::string& doing) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(errno, doing);
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// So that the new name is on the disk, too.
Status Flush(const std::string& folder, const std::string& doing) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return FailErrno(errno, doing);
  return {};
}

}  // namespace

Status WriteWholeFile(const std::string& path, std::string_view text, mode_t mode) {
  const std::string doing = "write " + path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code there;
  if (!std::filesystem::is_directory(folder, there)) {
    std::error_code made;
    std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), made);
    if (::mkdir(folder.c_str(), 0750) != 0 && errno != EEXIST) return FailErrno(errno, "make " + folder);
  }
  const std::string fresh = path + ".new";
  {
    const Fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!fd) return FailErrno(errno, doing);
    Status written = WriteAll(fd.get(), text, doing);
    if (written && (::fchmod(fd.get(), mode) != 0 || ::fsync(fd.get()) != 0))
      written = FailErrno(errno, doing);
    if (!written) {
      ::unlink(fresh.c_str());
      return written;
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return FailErrno(errno, doing);
  return Flush(folder, doing);
}

}  // namespace rail
