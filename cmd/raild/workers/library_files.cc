#include "cmd/raild/workers/library_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/folder.h"
#include "lib/base/parse.h"
#include "lib/base/whole_file.h"

namespace rail::raild {
namespace {

namespace fs = std::filesystem;

// A device that has an address and no GID of RoCE v2 may never have one.
constexpr std::chrono::minutes kLookAgainAtMost{10};

using PodName = std::pair<std::string, std::string>;  // namespace, name

std::map<PodName, std::vector<const state::Attachment*>> PodsThatRun(const engine::NodeView& view) {
  std::map<PodName, std::vector<const state::Attachment*>> pods;
  for (const engine::AttachmentView& each : view.attachments) {
    const state::Attachment& a = each.attachment;
    if (a.phase == state::Phase::kReady && !a.pod_name.empty() && !a.device.empty())
      pods[{a.pod_namespace, a.pod_name}].push_back(&a);
  }
  return pods;
}

std::string IdsOf(const std::vector<const state::Attachment*>& attachments) {
  std::string ids;
  for (const state::Attachment* each : attachments) ids += std::to_string(each->id) + " ";
  return ids;
}

// Adds the GIDs that the file of these attachments lacks. What it has of a GID stays.
Status WriteGids(const std::string& path, const std::string& ids, const std::string& lines) {
  const std::string title = "# RDMA device, port, index, GID; as attachments " + ids + "began\n";
  std::ifstream file(path);
  const std::string before{std::istreambuf_iterator<char>(file), {}};
  const std::string kept = before.starts_with(title) ? before : title;
  std::string now = kept;
  for (const std::string_view line : Split(lines, "\n")) {
    const std::string gid(line.substr(line.rfind(' ') + 1));
    if (kept.find(" " + gid + "\n") == std::string::npos && !gid.empty()) now.append(line).append("\n");
  }
  if (now == before) return {};
  return now == title ? RemoveWhole(path) : WriteWhole(path, now, 0644);
}

}  // namespace

Result<std::string> LibraryFiles::Prepare(const std::vector<std::string>& devices) {
  const std::lock_guard lock(mutex_);
  for (const std::string& device : devices) {
    Folder& folder = folders_[device];
    ++folder.turn;
    folder.ids.clear();
    const std::string path = PathOf(device);
    RAIL_TRY(MakeFolder(path, 0755));
    std::error_code error;
    for (fs::directory_iterator left(path, error), end; !error && left != end; left.increment(error))
      fs::remove_all(left->path(), error);
    if (error) return FailErrno(error.value(), "empty " + path);
  }
  return PathOf(devices.front());
}

LibraryFiles::Turns LibraryFiles::Lacking(const std::vector<const state::Attachment*>& attachments,
                                          const std::string& ids, Deadline now) {
  const std::lock_guard lock(mutex_);
  Turns lacking;
  for (const state::Attachment* each : attachments) {
    std::error_code error;
    if (!fs::is_directory(PathOf(each->device), error)) continue;
    const Folder& folder = folders_[each->device];
    if (folder.ids != ids || (folder.again && *folder.again <= now)) lacking[each->device] = folder.turn;
  }
  return lacking;
}

// Not into the folder of a device that another pod has got since.
Status LibraryFiles::WriteTo(const Turns& devices, const std::string& ids, const inspect::LibsAnswer& answer,
                             Deadline now) {
  const std::vector<libs::File> files = libs::Files(answer.settings, answer.problems, answer.topology);
  const std::lock_guard lock(mutex_);
  for (const auto& [device, turn] : devices) {
    Folder& folder = folders_[device];
    if (folder.turn != turn) continue;
    for (const libs::File& file : files)
      RAIL_TRY(WriteWhole(PathOf(device) + "/" + file.name, file.text, 0644));
    RAIL_TRY(WriteGids(PathOf(device) + "/" + libs::kGidsFile, ids, libs::GidLines(answer.pod)));
    if (std::exchange(folder.ids, ids) != ids) folder.since = now;
    folder.again.reset();
    if (libs::LacksGids(answer.pod))
      folder.again = now + std::min<Clock::duration>(now - folder.since, kLookAgainAtMost);
  }
  return {};
}

Status LibraryFiles::Write(const engine::NodeView& view, const Ask& ask, Deadline now) {
  Status written;
  for (const auto& [pod, attachments] : PodsThatRun(view)) {
    const std::string ids = IdsOf(attachments);
    const Turns devices = Lacking(attachments, ids, now);
    if (devices.empty()) continue;
    const auto answer = ask({.pod_namespace = pod.first, .pod = pod.second, .version = {}});
    if (!answer && answer.error().code == Code::kNotFound) continue;  // it has gone, its DEL has not come yet
    Status done = answer ? WriteTo(devices, ids, *answer, now) : Status(tl::make_unexpected(answer.error()));
    if (written && !done) written = std::move(done);
  }
  return written;
}

}  // namespace rail::raild
