#include "lib/kubernetes/objects.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"
#include "lib/kubernetes/lines.h"
#include "lib/kubernetes/resource_api.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kLongestWatch{240};
constexpr std::chrono::seconds kGrace{5};  // a watch may end so much later than it was asked to
constexpr std::chrono::seconds kShortWatch{1};
constexpr int kInVain = 5;  // short watches in a row that bring nothing

class Following {
 public:
  Following(Client& client, std::string path, Deadline until, const Wanted& wanted)
      : client_(client),
        path_(std::move(path)),
        query_(path_.find('?') == std::string::npos ? "?" : "&"),
        until_(until),
        wanted_(wanted) {}

  Result<Objects> Run() {
    while (!done_) {
      if (Clock::now() >= until_) return Fail(Code::kTransient, "it has not come about in time");
      if (list_due_) {
        RAIL_TRY(List());
      } else {
        RAIL_TRY(Watch());
      }
    }
    return std::move(now_);
  }

 private:
  Status List() {
    RAIL_ASSIGN(const json list, AskFor(client_, {.path = path_}, "list " + path_, until_));
    now_.clear();
    for (const json& item : At(list, {"items"})) now_[TextAt(item, {"metadata", "name"})] = item;
    version_ = TextAt(list, {"metadata", "resourceVersion"});
    list_due_ = false;
    return Look();
  }

  // What ends before its time is begun again, from the last version or by a list.
  Status Watch() {
    const auto began = Clock::now();
    const auto time = std::min<Clock::duration>(until_ - began, kLongestWatch);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(time);
    lines_.Clear();
    heard_ = false;
    Status failed;
    const auto answer = client_.Stream(
        {.path = path_ + query_ + "watch=true&timeoutSeconds=" + std::to_string(seconds.count()) +
                 "&resourceVersion=" + version_,
         .limit = std::min<Clock::duration>(until_ - began, time + kGrace)},
        [&](std::string_view bytes) {
          failed = lines_.Add(bytes, [this](const std::string& line) { return Take(line); });
          if (failed && done_) return Status(Fail(Code::kTransient, "done"));
          return failed;
        });
    if (done_) return {};
    if (!failed) return failed;
    if (answer && !answer->ok() && answer->status != 410)
      return FailWrapped(ErrorOf(*answer), "watch " + path_);
    if (!answer || !answer->ok()) list_due_ = true;  // which tells why, if it cannot be had either
    in_vain_ = heard_ || Clock::now() - began >= kShortWatch ? 0 : in_vain_ + 1;
    if (in_vain_ == kInVain)
      return Fail(Code::kTransient, "watch " + path_ + ": the API server ends each watch at once");
    return {};
  }

  Status Take(const std::string& line) {
    RAIL_ASSIGN(const json event, ParseJson(line, {.max_bytes = line.size()}));
    const std::string type = TextAt(event, {"type"});
    heard_ = type != "ERROR";
    if (type == "ERROR") {  // 410: the version is too old
      list_due_ = true;
      return {};
    }
    const json& object = At(event, {"object"});
    const std::string name = TextAt(object, {"metadata", "name"});
    version_ = TextAt(object, {"metadata", "resourceVersion"});
    if (type == "DELETED") now_.erase(name);
    if (type == "ADDED" || type == "MODIFIED") now_[name] = object;
    return done_ ? Status() : Look();
  }

  Status Look() {
    RAIL_ASSIGN(done_, wanted_(now_));
    return {};
  }

  Client& client_;
  const std::string path_;
  const std::string query_;  // what comes before one more key of it
  const Deadline until_;
  const Wanted& wanted_;
  Objects now_;
  std::string version_;
  Lines lines_;
  int in_vain_ = 0;
  bool heard_ = false;  // the watch has brought something
  bool list_due_ = true;
  bool done_ = false;
};

}  // namespace

const json& FindCondition(const json& object, const std::string& type) {
  static const json kNone;
  for (const json& condition : At(object, {"status", "conditions"}))
    if (TextAt(condition, {"type"}) == type) return condition;
  return kNone;
}

Result<std::vector<json>> ListObjects(Client& client, const std::string& path, Deadline until) {
  std::vector<json> all;
  std::string next;
  do {
    const std::string more = next.empty() ? "" : "&continue=" + Escaped(next);
    RAIL_ASSIGN(json page, AskFor(client, {.path = path + "?limit=500" + more}, "list " + path, until));
    next = TextAt(page, {"metadata", "continue"});
    for (json& item : page["items"]) all.push_back(std::move(item));
  } while (!next.empty());
  return all;
}

Result<Objects> WaitForObjects(Client& client, const std::string& path, Deadline until,
                               const Wanted& wanted) {
  return Following(client, path, until, wanted).Run();
}

}  // namespace rail::kubernetes
