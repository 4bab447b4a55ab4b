#include "lib/netlink/testing/vfs.h"

namespace rail::netlink::testing {

Result<VfState> FakeVfs::Get(int pf, uint32_t vf) {
  const auto it = vfs_.find({pf, vf});
  if (it == vfs_.end()) return Fail(Code::kNotFound, "link " + std::to_string(pf) + " has no such VF");
  return it->second;
}

Status FakeVfs::Set(int pf, uint32_t vf, const VfChange& change) {
  const auto it = vfs_.find({pf, vf});
  if (it == vfs_.end()) return Fail(Code::kNotFound, "link " + std::to_string(pf) + " has no such VF");
  VfState& state = it->second;
  const auto set = [&](const std::string& what, const auto& value, auto& place) -> Status {
    if (!value) return {};
    if (const auto failure = failures_.extract(what)) return tl::make_unexpected(failure.mapped());
    calls_.push_back(what + " of " + std::to_string(vf));
    // NOLINTNEXTLINE(bugprone-optional-value-conversion): not every place is an optional
    if (!ignored_.contains(what)) place = *value;
    return {};
  };
  RAIL_TRY(set("vlan", change.vlan, state.vlan));
  RAIL_TRY(set("mac", change.mac, state.mac));
  RAIL_TRY(set("rates", change.rates, state.rates));
  RAIL_TRY(set("spoofchk", change.spoofchk, state.spoofchk));
  RAIL_TRY(set("trust", change.trust, state.trust));
  return set("link_state", change.link_state, state.link_state);
}

}  // namespace rail::netlink::testing
