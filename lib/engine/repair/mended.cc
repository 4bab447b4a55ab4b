#include "lib/engine/repair/mended.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/base/text.h"
#include "lib/engine/repair/foreign_rules.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::CookieMatch;
using state::Attachment;

// An incident with more owners than this concerns everybody.
constexpr size_t kMostNames = 4;

std::string NameOf(const Attachment& attachment) {
  const std::string pod = attachment.pod_name.empty()
                              ? "container " + attachment.key.container_id.substr(0, 12)
                              : attachment.pod_namespace + "/" + attachment.pod_name;
  return pod + " " + attachment.key.ifname +
         (attachment.tenant.empty() ? "" : " (tenant " + attachment.tenant + ")");
}

std::string OwnerOf(uint64_t cookie, const Record& record) {
  const uint64_t id = cookie & ovs::kCookieIdMask;
  const auto is = [&](CookieKind kind) { return CookieMatch::Kind(kind).Selects(cookie); };
  if (is(CookieKind::kAttachment) || is(CookieKind::kTenant)) {
    const auto found = std::ranges::find_if(record.attachments, [&](const Attachment& attachment) {
      return (static_cast<uint64_t>(attachment.id) & ovs::kCookieIdMask) == id;
    });
    return found == record.attachments.end() ? "attachment " + std::to_string(id) + ", which does not exist"
                                             : NameOf(*found);
  }
  if (is(CookieKind::kCompare)) {
    const auto found = std::ranges::find_if(record.attachments, [&](const Attachment& attachment) {
      return (attachment.tenant_id.low & ovs::kCookieIdMask) == id;
    });
    return found == record.attachments.end() ? "a tenant without pods here" : "tenant " + found->tenant;
  }
  if (is(CookieKind::kLeaf)) return "the leaf";
  if (is(CookieKind::kPipeline)) return "all pods of the rail";
  if (is(CookieKind::kRemote)) return "pods elsewhere";
  return "nobody";
}

std::string Owners(const std::set<uint64_t>& cookies, const Record& record) {
  std::set<std::string> names;
  for (const uint64_t cookie : cookies) names.insert(OwnerOf(cookie, record));
  std::string text;
  size_t said = 0;
  for (const std::string& name : names) {
    if (++said > kMostNames) return text + fmt::format(" and {} more", names.size() - kMostNames);
    Append(text, ", ", name);
  }
  return text;
}

}  // namespace

void MendedRules::Join(const MendedRules& more) {
  missing += more.missing;
  changed += more.changed;
  unexplained += more.unexplained;
  foreign += more.foreign;
  for (const uint64_t cookie : more.cookies) {
    if (cookies.size() < kMostCookies) cookies.insert(cookie);
  }
  for (const ovs::Rule& rule : more.foreign_examples) {
    if (foreign_examples.size() < kMostNames) foreign_examples.push_back(rule);
  }
}

std::string WordsFor(const MendedRules& mended, const std::string& bridge, const Record& record) {
  std::string text;
  const auto add = [&](uint64_t count, const char* what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(mended.missing, "missing");
  add(mended.changed, "changed");
  add(mended.unexplained, "that nothing explains");
  if (!text.empty()) {
    text = fmt::format("flows of {} put right that others had changed: {}; of {}", bridge, text,
                       Owners(mended.cookies, record));
  }
  if (mended.foreign == 0) return text;
  text += fmt::format("{}{} flows of others removed from {}, which can go around the isolation: ",
                      text.empty() ? "" : "; ", mended.foreign, bridge);
  text += Join(mended.foreign_examples, "; ", RuleText);
  if (mended.foreign > mended.foreign_examples.size())
    text += fmt::format("; and {} more", mended.foreign - mended.foreign_examples.size());
  return text;
}

}  // namespace rail::engine
