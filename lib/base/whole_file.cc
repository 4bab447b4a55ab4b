#include "lib/base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "lib/base/fd.h"

namespace rail {
namespace {

Status WriteAll(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(file, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FailErrno(n < 0 ? errno : EIO, "write its new content");
    content.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status Fill(int file, std::string_view content, mode_t mode) {
  RAIL_TRY(WriteAll(file, content));
  if (::fchmod(file, mode) != 0) return FailErrno(errno, "set its mode");
  if (::fsync(file) != 0) return FailErrno(errno, "flush its new content to the disk");
  return {};
}

Status FlushFolder(const std::string& folder) {
  const Fd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot flush a folder and say EINVAL: they keep names in their own way.
  if (!open || (::fsync(open.get()) != 0 && errno != EINVAL))
    return FailErrno(errno, "flush the folder " + folder);
  return {};
}

std::string FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

}  // namespace

Result<std::string> ReadWhole(const std::string& path) {
  const std::string doing = "read " + path;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return FailErrno(errno, doing);
  std::string text;
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(errno, doing);
    if (n == 0) return text;
    text.append(piece.data(), static_cast<size_t>(n));
  }
}

Status WriteWhole(const std::string& path, std::string_view content, mode_t mode) {
  const std::string doing = "write " + path;
  const std::filesystem::path name(path);
  const std::string folder = FolderOf(name);
  // The name is unique: with one name for all, a writer would rename what another one has half written.
  std::string fresh = folder + "/." + name.filename().string() + ".railcni-XXXXXX";
  const Fd file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) return FailErrno(errno, doing + ": make a temporary file in " + folder);
  Status done = Fill(file.get(), content, mode);
  if (done && ::rename(fresh.c_str(), path.c_str()) != 0)
    done = FailErrno(errno, "put the new file in its place");
  if (!done) {
    (void)::unlink(fresh.c_str());
    return FailWrapped(std::move(done).error(), doing);
  }
  RAIL_TRY_AS(FlushFolder(folder), doing);
  return {};
}

Status RemoveWhole(const std::string& path) {
  const std::string doing = "remove " + path;
  if (::unlink(path.c_str()) != 0) return errno == ENOENT ? Status() : FailErrno(errno, doing);
  RAIL_TRY_AS(FlushFolder(FolderOf(path)), doing);
  return {};
}

}  // namespace rail
