#include "lib/kubernetes/namespace_watch.h"

#include <algorithm>
#include <utility>

namespace rail::kubernetes {
namespace {

constexpr char kAcceptList[] =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr char kAcceptEvent[] =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr char kNamespaces[] = "/api/v1/namespaces";
constexpr int kPage = 500;
constexpr size_t kMaxPages = 10'000;
// A server that was restored from a backup never reaches the version that was known: then any version will do.
constexpr int kTooNew = 3;
constexpr std::chrono::seconds kGrace{30};  // a watch may end so much later than it was asked to

}  // namespace

NamespaceWatch::NamespaceWatch(Client& client, std::string label_key, std::optional<tenancy::TenantMap> last,
                               Events events, uint64_t seed, Times times)
    : client_(client), events_(std::move(events)), times_(times), backoff_(seed), known_(last.has_value()) {
  if (last) map_ = std::move(*last);
  map_.label_key = std::move(label_key);
}

void NamespaceWatch::Run() {
  if (known_) stop_.Wait(backoff_.Between({}, times_.spread));
  while (!client_.stopped()) {
    advanced_ = false;
    const auto began = Clock::now();
    const Status done = list_due_ ? List() : Watch();
    if (client_.stopped()) return;
    events_.state(done);
    const bool lasted = advanced_ || Clock::now() - began > Backoff::kFirst;
    if (lasted) backoff_.Right();
    if (done && lasted) continue;
    // A watch that the server ends at once is trouble, too. What ends a node's watch may have ended those of all nodes.
    const auto wait = backoff_.Failed();
    stop_.Wait(list_due_ && known_ ? std::max(wait, backoff_.Between({}, times_.spread)) : wait);
  }
}

void NamespaceWatch::Stop() {
  client_.Stop();
  stop_.Give();
}

// From the API server's cache, in a version that is not older than what was known: another server of the cluster may be behind.
Status NamespaceWatch::List() {
  const bool any = map_.resource_version.empty() || too_new_ >= kTooNew;
  const std::string first = std::string(kNamespaces) + "?limit=" + std::to_string(kPage) +
                            "&resourceVersion=" + (any ? "0" : Escaped(map_.resource_version)) +
                            "&resourceVersionMatch=NotOlderThan";
  tenancy::TenantMap fresh{.label_key = map_.label_key, .resource_version = {}, .namespaces = {}};
  std::string path = first;
  for (size_t pages = 0; !path.empty(); ++pages) {
    if (pages == kMaxPages) return Fail(Code::kInvalid, "the API server's list of namespaces does not end");
    RAIL_ASSIGN(const Answer answer, client_.Ask({.path = path, .accept = kAcceptList}));
    if (!answer.ok()) {
      too_new_ = answer.status == 504 ? too_new_ + 1 : 0;
      return FailWrapped(ErrorOf(answer), "list namespaces");
    }
    RAIL_ASSIGN(Page page, ReadPage(answer.body, map_.label_key));
    for (Namespace& each : page.namespaces) fresh.namespaces[each.name] = std::move(each.label);
    fresh.resource_version = page.resource_version;
    path = page.next.empty() ? ""
                             : std::string(kNamespaces) + "?limit=" + std::to_string(kPage) +
                                   "&continue=" + Escaped(page.next);
  }
  too_new_ = 0;
  const bool changed = !known_ || fresh.namespaces != map_.namespaces;
  map_ = std::move(fresh);
  known_ = advanced_ = true;
  list_due_ = false;
  heard_ = Clock::now();
  resync_ = heard_ + backoff_.Between(times_.resync, 2 * times_.resync);
  if (changed) events_.changed(map_);
  return {};
}

// A server that was restored from a backup is asked to go on from a version that it has not reached: it says nothing, and no error. When it
// has reached it, it goes on from there, and what was said before is lost: so silence ends in a list, and so does time.
Status NamespaceWatch::Watch() {
  const auto time = std::chrono::ceil<std::chrono::seconds>(backoff_.Between(times_.watch, 2 * times_.watch));
  const Request request{
      .path = std::string(kNamespaces) + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=" +
              std::to_string(time.count()) + "&resourceVersion=" + Escaped(map_.resource_version),
      .accept = kAcceptEvent,
      .limit = time + kGrace,
      .silence = times_.silence};
  lines_.Clear();
  auto answer = client_.Stream(request, [this](std::string_view bytes) { return Take(bytes); });
  const auto now = Clock::now();
  if (now - heard_ >= times_.silence / 2 || now >= resync_) list_due_ = true;
  if (!answer) return tl::make_unexpected(answer.error());
  if (answer->ok()) return {};
  if (answer->status == 410) list_due_ = true;
  return FailWrapped(ErrorOf(*answer), "watch namespaces");
}

Status NamespaceWatch::Take(std::string_view bytes) {
  if (bytes.empty()) events_.state({});
  const Status status = lines_.Add(bytes, [this](const std::string& line) -> Status {
    RAIL_ASSIGN(const Event event, ReadEvent(line, map_.label_key));
    return Apply(event);
  });
  // What was understood is told even if something else was not.
  if (std::exchange(changed_, false)) events_.changed(map_);
  if (!status) list_due_ = true;  // what the event would have said is in the next list
  return status;
}

Status NamespaceWatch::Apply(const Event& event) {
  using Kind = Event::Kind;
  if (event.kind == Kind::kError) {
    return Fail(Code::kTransient, "watch namespaces: the API server ends the watch with " +
                                      std::to_string(event.status) +
                                      (event.message.empty() ? "" : ": " + event.message));
  }
  advanced_ = true;
  heard_ = Clock::now();
  map_.resource_version = event.what.resource_version;
  if (event.kind == Kind::kBookmark) return {};
  if (event.kind == Kind::kDeleted) {
    changed_ = map_.namespaces.erase(event.what.name) > 0 || changed_;
    return {};
  }
  const auto [entry, is_new] = map_.namespaces.try_emplace(event.what.name);
  changed_ = changed_ || is_new || entry->second != event.what.label;
  entry->second = event.what.label;
  return {};
}

}  // namespace rail::kubernetes
