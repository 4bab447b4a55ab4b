#include "lib/netlink/testing/dcb.h"

#include <fmt/core.h>

#include <algorithm>

namespace rail::netlink::testing {

Result<DcbState*> FakeDcb::Find(const std::string& link) {
  if (std::ranges::find(links_.plain, link) != links_.plain.end())
    return Fail(Code::kUnsupported, link + ": Operation not supported");
  const auto it = links_.links.find(link);
  if (it == links_.links.end()) return Fail(Code::kNotFound, link + ": No such device");
  return &it->second;
}

Status FakeDcb::Change(const std::string& change) {
  if (links_.read_only) return Fail(Code::kUnsupported, change + ": Operation not supported");
  links_.changes.push_back(change);
  return {};
}

Result<DcbState> FakeDcb::Get(const std::string& link) {
  RAIL_ASSIGN(const DcbState* state, Find(link));
  return *state;
}

Status FakeDcb::SetPfc(const std::string& link, uint8_t enabled) {
  RAIL_ASSIGN(DcbState * state, Find(link));
  if (!state->pfc) return Fail(Code::kUnsupported, link + ": its driver has none");
  if (state->pfc->enabled == enabled) return {};
  RAIL_TRY(Change(fmt::format("{} pfc {}", link, enabled)));
  state->pfc->enabled = enabled;
  return {};
}

Status FakeDcb::AddApp(const std::string& link, const DcbApp& app) {
  RAIL_ASSIGN(DcbState * state, Find(link));
  if (std::ranges::find(state->apps, app) != state->apps.end()) return {};
  RAIL_TRY(Change(fmt::format("{} add {}:{}", link, app.protocol, app.priority)));
  state->apps.push_back(app);
  std::ranges::sort(state->apps);
  return {};
}

Status FakeDcb::DeleteApp(const std::string& link, const DcbApp& app) {
  RAIL_ASSIGN(DcbState * state, Find(link));
  if (std::ranges::find(state->apps, app) == state->apps.end()) return {};
  RAIL_TRY(Change(fmt::format("{} delete {}:{}", link, app.protocol, app.priority)));
  std::erase(state->apps, app);
  return {};
}

}  // namespace rail::netlink::testing
