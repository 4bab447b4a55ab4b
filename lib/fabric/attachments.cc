#include "lib/fabric/attachments.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

constexpr uint32_t kPage = 1'000;
constexpr uint32_t kMostPage = 10'000;

bool Fits(const std::string& wanted, std::string_view is) {
  return wanted.empty() || wanted == is;
}

bool Fits(const v1::FleetAttachmentSelector& selector, const Placed& placed) {
  const v1::Attachment& a = *placed.attachment;
  return Fits(selector.namespace_(), a.pod().namespace_()) && Fits(selector.pod(), a.pod().name()) &&
         Fits(selector.node(), placed.node->name) && Fits(selector.rail(), a.rail()) &&
         (Fits(selector.tenant(), a.tenant().name()) || selector.tenant() == a.tenant().id()) &&
         (selector.address().empty() ||
          std::ranges::find(a.addresses(), selector.address()) != a.addresses().end());
}

// Names have no control characters.
constexpr char kBetween = '\n';

std::string TokenOf(const AttachmentKey& key) {
  std::string token;
  for (const std::string_view part : {key.ns, key.pod, key.node}) token.append(part) += kBetween;
  return token + std::to_string(key.id);
}

// Its texts are those of the token.
std::optional<AttachmentKey> KeyOf(std::string_view token) {
  AttachmentKey key;
  for (std::string_view* part : {&key.ns, &key.pod, &key.node}) {
    const size_t end = token.find(kBetween);
    if (end == std::string_view::npos) return std::nullopt;
    *part = token.substr(0, end);
    token.remove_prefix(end + 1);
  }
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), key.id);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return key;
}

void Add(const Placed& placed, const Grid& grid, v1::ListFleetAttachmentsResponse& response) {
  v1::FleetAttachment& message = *response.add_attachments();
  message.set_node(placed.node->name);
  *message.mutable_attachment() = *placed.attachment;
  message.set_unit(grid.UnitOf(placed.node->name));
  if (const Cell* cell = grid.Find(placed.node->name, placed.attachment->rail()); cell != nullptr)
    message.set_leaf(cell->leaf);
  if (placed.node->away_ms != 0) *message.mutable_away_since() = Stamp(placed.node->away_ms);
}

}  // namespace

Result<v1::ListFleetAttachmentsResponse> ListAttachments(const Fleet& fleet, const Grid& grid,
                                                         const v1::ListFleetAttachmentsRequest& request) {
  const v1::FleetAttachmentSelector& selector = request.selector();
  const Fleet::Attachments& all = fleet.attachments();
  auto at = all.begin();
  if (!request.page_token().empty()) {
    const auto last = KeyOf(request.page_token());
    if (!last)
      return Fail(Code::kInvalid, "list attachments: page_token \"" + request.page_token() +
                                      "\" is none that an answer has given");
    at = all.upper_bound(*last);
  } else if (!selector.namespace_().empty()) {
    at = all.lower_bound({selector.namespace_(), "", "", std::numeric_limits<int64_t>::min()});
  }
  v1::ListFleetAttachmentsResponse response;
  const uint32_t size = request.page_size() == 0 ? kPage : std::min(request.page_size(), kMostPage);
  std::string last;
  for (; at != all.end(); ++at) {
    const auto& [key, placed] = *at;
    if (!selector.namespace_().empty() && key.ns != selector.namespace_()) break;
    if (!Fits(selector, placed)) continue;
    if (static_cast<uint32_t>(response.attachments_size()) == size) {
      response.set_next_page_token(last);
      break;
    }
    Add(placed, grid, response);
    last = TokenOf(key);
  }
  return response;
}

}  // namespace rail::fabric
