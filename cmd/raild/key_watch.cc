#include "cmd/raild/key_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "lib/base/log.h"

namespace rail::raild {
namespace {

// Where inotify says nothing: a folder that was not there, a file behind a link into another folder.
constexpr std::chrono::seconds kAnyway{30};
// What is done to several files in one go, such as two renames, is read when all of it is done.
constexpr std::chrono::milliseconds kGather{100};

std::string Words(const tenancy::Tenancy& keys) {
  std::string words;
  for (const std::string& fingerprint : keys.fingerprints()) {
    words += words.empty() ? "" : words.find(',') == std::string::npos ? ", also accepted: " : ", ";
    words += fingerprint;
  }
  return words;
}

}  // namespace

// All or nothing: a file that is half written or open to everybody changes nothing.
Result<bool> KeyWatch::Read() {
  const auto read = [&]() -> Result<tenancy::Tenancy> {
    RAIL_ASSIGN(tenancy::Tenancy keys, load_(config_));
    RAIL_TRY(keys.AcceptedProblem());
    return keys;
  };
  auto keys = read();
  if (!keys) {
    const Error problem{keys.error().code,
                        keys.error().message + "; the keys that were read before stay in use",
                        keys.error().sys_errno};
    problem_ = problem.message;
    picture_.Note(engine::kTenantKeys, tl::make_unexpected(problem));
    return tl::make_unexpected(problem);
  }
  problem_.clear();
  picture_.Note(engine::kTenantKeys, {});
  const auto before = picture_.tenancy();
  if (keys->SameKeys(*before)) return false;
  if (config_.mode == config::TenancyMode::kNamespace) log::Info("tenant key: {}", Words(*keys));
  picture_.SetTenancy(std::make_shared<const tenancy::Tenancy>(std::move(*keys)));
  return true;
}

void KeyWatch::Look() {
  WatchFolders();
  const std::string before = problem_;
  const bool other_keys = Read().value_or(false);  // an error is in the picture
  if (other_keys || problem_ != before) changed_();
}

void KeyWatch::Watch(event::Loop& loop) {
  if (config_.mode == config::TenancyMode::kOff) return;
  inotify_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  Status watched;
  if (inotify_) {
    WatchFolders();
    watched = loop.Watch(inotify_.get(), [this, &loop] {
      std::array<char, 4096> unused;
      while (::read(inotify_.get(), unused.data(), unused.size()) > 0 || errno == EINTR) {
      }
      Soon(loop);
    });
  } else {
    watched = FailErrno(errno, "inotify_init1");
  }
  if (!watched) log::Warning("key files: {}; they are looked at every 30 s only", watched.error().message);
  loop.Every(kAnyway, [this] { Look(); });
}

void KeyWatch::Soon(event::Loop& loop) {
  if (scheduled_) return;
  scheduled_ = true;
  loop.After(kGather, [this] {
    scheduled_ = false;
    Look();
  });
}

// The folders, not the files: files are replaced by renaming, and those that are not there yet come. Again for a folder that is
// watched is no change.
void KeyWatch::WatchFolders() {
  if (!inotify_) return;
  std::set<std::string> folders = {std::filesystem::path(config_.key_file).parent_path()};
  for (const std::string& file : config_.accept_key_files)
    folders.insert(std::filesystem::path(file).parent_path());
  for (const std::string& folder : folders) {
    (void)::inotify_add_watch(
        inotify_.get(), folder.c_str(),
        IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR);
  }
}

}  // namespace rail::raild
