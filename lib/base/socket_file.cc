#include "lib/base/socket_file.h"

#include <grp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/folder.h"
#include "lib/base/socket.h"

namespace rail {
namespace {

constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

Status RefuseWhenTaken(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return FailErrno(errno, "look at " + path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return Fail(Code::kExists, path + " is there and is not a socket: move it away or serve on another path");
  }
  const auto answer = UnixStream::Connect(path, After(std::chrono::seconds(1)));
  if (answer) return Fail(Code::kBusy, "another process answers on " + path + ": is raild running already?");
  if (answer.error().sys_errno == ECONNREFUSED || answer.error().code == Code::kNotFound) return {};
  return FailWrapped(answer.error(), "see whether another process serves " + path);
}

Result<std::optional<gid_t>> FindGroup(const std::string& name) {
  std::vector<char> buffer(1 << 16);
  group entry{};
  group* found = nullptr;
  const int error = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->gr_gid;
  // getgrnam(3): these, too, mean that there is no such group.
  if (error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM)
    return std::nullopt;
  return FailErrno(error, "look up group " + name);
}

}  // namespace

SocketFile::SocketFile(std::string path, std::string folder)
    : path_(std::move(path)), folder_(std::move(folder)), bind_path_(folder_ + "/s") {}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::move(other.path_)),
      folder_(std::exchange(other.folder_, {})),
      bind_path_(std::move(other.bind_path_)),
      inode_(std::exchange(other.inode_, 0)) {}

Result<SocketFile> SocketFile::Prepare(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string pattern = parent.string() + "/.sXXXXXX";
  if (path.empty() || path.front() != '/' || std::max(path.size(), pattern.size() + 2) > kLongestPath) {
    return Fail(Code::kInvalid, "serve on \"" + path +
                                    "\": the path of a socket is absolute and has at most " +
                                    std::to_string(kLongestPath) + " bytes, with 10 to spare for its folder");
  }
  RAIL_TRY(MakeFolder(parent.string(), 0755));
  RAIL_TRY(RefuseWhenTaken(path));
  std::string folder = pattern;
  if (::mkdtemp(folder.data()) == nullptr)
    return FailErrno(errno, "make a private folder in " + parent.string());
  return SocketFile(path, std::move(folder));
}

Status SocketFile::Publish(const std::string& group) {
  RAIL_ASSIGN(const std::optional<gid_t> gid, FindGroup(group));
  const auto no_change = static_cast<uid_t>(-1);
  if (gid && ::chown(bind_path_.c_str(), no_change, *gid) != 0) {
    return FailErrno(errno, "give " + path_ + " to group " + group);
  }
  struct stat info{};
  if (::chmod(bind_path_.c_str(), gid ? 0660 : 0600) != 0 || ::stat(bind_path_.c_str(), &info) != 0) {
    return FailErrno(errno, "set the mode of " + path_);
  }
  if (::rename(bind_path_.c_str(), path_.c_str()) != 0) return FailErrno(errno, "name the socket " + path_);
  inode_ = info.st_ino;
  RemoveFolder();
  return {};
}

bool SocketFile::IsThere() const {
  struct stat info{};
  return inode_ != 0 && ::lstat(path_.c_str(), &info) == 0 && info.st_ino == inode_;
}

SocketFile::~SocketFile() {
  if (IsThere()) ::unlink(path_.c_str());
  RemoveFolder();
}

void SocketFile::RemoveFolder() {
  if (folder_.empty()) return;
  ::unlink(bind_path_.c_str());
  ::rmdir(folder_.c_str());
  folder_.clear();
}

}  // namespace rail
