// What is wrong with what bgpd pushes, in words for the health of raild's parts.
#include "lib/base/log.h"
#include "lib/engine/repair_bgp.h"

namespace rail::engine {

Status BgpRepair::FeedHealth() const {
  std::string why = why_no_feed_;
  if (why.empty() && !feed_configured_) why = feed_configured_.error().message;
  if (why.empty()) {
    if (FeedIsUp()) return {};
    why = "bgpd has not connected to 127.0.0.1 port " + std::to_string(config_.bgp.bmp_port);
  }
  if (feed_open_) return Fail(Code::kInvalid, "what bgpd pushes (BMP): " + why);
  return Fail(Code::kUnsupported, "nothing new is learned, and what was learned stays: " + why);
}

Status BgpRepair::PrefixHealth() const {
  const uint32_t most = config_.bgp.max_prefixes;
  for (const config::Rail& rail : config_.rails) {
    const auto session = sessions_.find(rail.bridge);
    if (session == sessions_.end() || session->second.most_prefixes <= most) continue;
    return Fail(Code::kInvalid,
                "the leaf of rail " + rail.name + " sends " + std::to_string(session->second.most_prefixes) +
                    " prefixes of one family, and " + "bgp.max_prefixes expects " + std::to_string(most) +
                    " at most: all of them are learned; see what the leaf passes on, or raise the bound");
  }
  return {};
}

// A restart while a leaf is silent gives the unit the same name.
void BgpRepair::LookAtLeaves() {
  const std::string before = leaves_.unit();
  leaves_.Look(sessions_);
  if (leaves_.unit() != before) log::Info("the leaves make the unit {}", leaves_.unit());
  if (!leaves_.TakeChanged() || deps_.leaves_file.empty()) return;
  const Status kept = WriteLeaves(deps_.leaves_file, leaves_.to_keep());
  if (!kept)
    log::Warning("{}: after a restart the unit has no name while a leaf is silent", kept.error().message);
}

}  // namespace rail::engine
