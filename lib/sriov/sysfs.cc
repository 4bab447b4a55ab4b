#include "lib/sriov/sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "lib/base/fd.h"
#include "lib/base/parse.h"

namespace rail::sriov {

namespace fs = std::filesystem;

std::optional<std::string> Sysfs::Read(const std::string& path) const {
  const Fd fd(::open(At(path).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer;  // a sysfs file has at most one page
  const ssize_t n = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (n < 0) return std::nullopt;
  std::string text(buffer.data(), static_cast<size_t>(n));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<uint32_t> Sysfs::ReadNumber(const std::string& path) const {
  const auto text = Read(path);
  return text ? Number<uint32_t>(*text) : std::nullopt;
}

std::optional<std::string> Sysfs::Target(const std::string& path) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(At(path), error);
  return error ? std::nullopt : std::optional(target.filename().string());
}

std::optional<std::string> Sysfs::Real(const std::string& path) const {
  std::error_code error;
  const fs::path real = fs::canonical(At(path), error);
  return error ? std::nullopt : std::optional(real.string());
}

bool Sysfs::Exists(const std::string& path) const {
  return ::access(At(path).c_str(), F_OK) == 0;
}

std::vector<std::string> Sysfs::List(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(At(path), error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

Status Sysfs::Write(const std::string& path, const std::string& value) const {
  const std::string doing = "write " + value + " to " + At(path);
  const Fd fd(::open(At(path).c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (!fd && errno == EROFS) {
    return FailErrno(
        EROFS,
        "a container needs the host's /sys/devices and /sys/bus/pci, writable, mounted below "
        "another path such as /host/sys, and RAILCNI_SYSFS=/host/sys (manifests/base has both): " +
            doing);
  }
  if (!fd) return FailErrno(errno, doing);
  if (::write(fd.get(), value.data(), value.size()) < 0) return FailErrno(errno, doing);
  if (written_) written_(path, value);
  return {};
}

}  // namespace rail::sriov
