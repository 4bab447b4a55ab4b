// Any bytes as what bgpd says on its vty: a reply's frame, its JSON, its running configuration. What is planned from such a
// configuration never holds a line that bgpd would read as two.
#include <cstdint>
#include <cstdlib>

#include "lib/frr/base_config.h"
#include "lib/frr/show.h"
#include "lib/frr/vty.h"

namespace {

using namespace rail;
using namespace rail::frr;

constexpr uint32_t kCommunity = 4200000000;

void Frame(std::string_view bytes) {
  ReplyDecoder decoder(1 << 20);
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 7) {
    const auto done = decoder.Feed(bytes.substr(at, 7));
    text += decoder.TakeText();
    if (!done || *done) break;
  }
  if (text.size() > bytes.size() || text.find('\0') != std::string::npos) std::abort();
}

// What is left of a reply has no NUL in it.
void Json(std::string text) {
  std::erase(text, '\0');
  (void)DecodeInAdjRibOut(text, "br-rail0");
  (void)DecodeElsewhere(text);
  (void)DecodeSessions(text);
  (void)DecodeTableVersion(text);
  Session session{.interface = "br-rail0", .state = "Established"};
  (void)DecodeNeighbor(text, session);
  (void)DecodeState(text, "br-rail0");
}

void Lines(const Result<std::vector<std::string>>& lines) {
  if (!lines) {
    if (lines.error().message.empty()) std::abort();
    return;
  }
  for (const std::string& line : *lines) {
    if (!CheckLine(line)) std::abort();
  }
}

void Configuration(std::string_view text) {
  const RunningConfig running = ParseRunningConfig(text);
  const Identity identity{.asn = 4200000001, .community_asn = kCommunity};
  Lines(PlanBase(running, identity,
                 {.router_id = *IpAddress::Parse("10.255.0.1"), .rails = {{"rail0", 0, "br-rail0"}}}));
  for (const char* address : {"10.0.3.7", "fd52:4149::7"})
    Lines(PlanAnnounce(running, identity, {{*IpAddress::Parse(address), "rail0", 0, {7}}}));
  for (const auto& [entry, lines] : running.route_maps) (void)FromRouteMapName(entry);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Frame(text);
  Json(std::string(text));
  Configuration(text);
  return 0;
}
