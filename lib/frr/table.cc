#include "lib/frr/table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/strict_json.h"

namespace rail::frr {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 16;
constexpr JsonLimits kSmall{.max_bytes = size_t{16} << 20, .max_depth = 16};

struct Path {
  std::vector<tenancy::LargeCommunity> communities;
  std::string interface;
  bool best = false;
  bool own = false;
};

// One prefix's paths -> a remote, or nothing.
class Chooser {
 public:
  Chooser(uint32_t community_asn, std::vector<Remote>& remotes)
      : community_asn_(community_asn), remotes_(remotes) {}

  void Choose(const std::string& prefix_text, const std::vector<Path>& paths) {
    const auto prefix = IpPrefix::Parse(prefix_text);
    if (!prefix || !prefix->is_host()) return;
    const auto best = std::ranges::find_if(paths, &Path::best);
    if (best == paths.end() || std::ranges::any_of(paths, &Path::own)) return;
    const auto tenant = TenantOf(*best);
    if (!tenant) return;
    Remote remote{prefix->address, *tenant, RailOf(*best), best->interface};
    for (const Path& path : paths) {
      if (!path.interface.empty() && path.interface < remote.interface && TenantOf(path) == tenant)
        remote.interface = path.interface;
    }
    remotes_.push_back(std::move(remote));
  }

 private:
  // Two tenants on one path contradict each other: none.
  std::optional<tenancy::TenantId> TenantOf(const Path& path) const {
    std::optional<tenancy::TenantId> tenant;
    for (const auto& community : path.communities) {
      const auto found = tenancy::TenantOfCommunity(community_asn_, community);
      if (found && tenant && *found != *tenant) return std::nullopt;
      if (found) tenant = found;
    }
    return tenant;
  }

  std::optional<uint32_t> RailOf(const Path& path) const {
    for (const auto& community : path.communities) {
      if (const auto rail = tenancy::RailOfCommunity(community_asn_, community)) return rail;
    }
    return std::nullopt;
  }

  uint32_t community_asn_;
  std::vector<Remote>& remotes_;
};

// Walks {"routes": {"P": ...}}: a table of 100,000 routes is some 90 MB of text and would be a gigabyte as a
// document. Frames: 1 the document, 2 "routes", 3 a prefix (a list of paths, or an object with "paths"),
// below it the paths.
class TableReader : public nlohmann::json_sax<json> {
 public:
  explicit TableReader(Chooser chooser) : chooser_(chooser) {}

  bool null() override { return true; }
  bool boolean(bool value) override {
    if (!in_path_) return true;
    if (Here() == path_depth_ && (Key() == "sourced" || Key() == "local")) path_.own = path_.own || value;
    if (Here() == path_depth_ + 1 && Parent() == "bestpath" && Key() == "overall") path_.best = value;
    return true;
  }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override {
    if (!in_path_) return true;
    if (Here() == path_depth_ + 1 && Parent() == "peer" && Key() == "interface") path_.interface = value;
    if (Here() == path_depth_ + 2 && Parent(2) == "largeCommunity" && Parent() == "list") {
      if (const auto community = tenancy::LargeCommunity::Parse(value))
        path_.communities.push_back(*community);
    }
    return true;
  }
  bool key(string_t& value) override {
    frames_.back().key.swap(value);
    return true;
  }
  bool start_object(size_t) override {
    saw_object_ = true;
    if (!Push()) return false;
    const bool listed = Here() == 4 && Routes() && frames_[2].list;  // 8.4
    const bool in_paths =
        Here() == 5 && Routes() && !frames_[2].list && frames_[2].key == "paths" && frames_[3].list;  // 10
    if (listed || in_paths) {
      path_ = {};
      path_depth_ = Here();
      in_path_ = true;
    }
    return true;
  }
  bool end_object() override {
    if (in_path_ && Here() == path_depth_) {
      in_path_ = false;
      paths_.push_back(std::move(path_));
    }
    return Pop();
  }
  bool start_array(size_t) override {
    if (!Push()) return false;
    frames_.back().list = true;
    return true;
  }
  bool end_array() override { return Pop(); }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    error_ = "not JSON at byte " + std::to_string(at);
    return false;
  }

  const std::string& error() const { return error_; }
  bool saw_routes() const { return saw_routes_; }
  bool saw_object() const { return saw_object_; }

 private:
  struct Frame {
    std::string key;  // of an object: the one being read
    bool list = false;
  };

  size_t Here() const { return frames_.size(); }
  const std::string& Key() const { return frames_.back().key; }
  // The key under which the current value's container stands, `up` levels above.
  const std::string& Parent(size_t up = 1) const { return frames_[frames_.size() - 1 - up].key; }
  bool Routes() const { return frames_[0].key == "routes"; }

  bool Push() {
    if (frames_.size() == kMaxDepth) {
      error_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    frames_.emplace_back();
    if (frames_.size() == 2 && Routes()) saw_routes_ = true;
    return true;
  }
  bool Pop() {
    frames_.pop_back();
    if (frames_.size() == 2 && Routes()) {
      chooser_.Choose(frames_[1].key, paths_);
      paths_.clear();
    }
    return true;
  }

  Chooser chooser_;
  std::vector<Frame> frames_;
  std::vector<Path> paths_;
  Path path_;
  size_t path_depth_ = 0;
  bool in_path_ = false;
  bool saw_routes_ = false;
  bool saw_object_ = false;
  std::string error_;
};

// A text in pieces, and a cursor over its characters as the parser wants it.
class Text {
 public:
  explicit Text(const Pieces& next) : next_(next) { Fetch(); }
  bool at_end() const { return at_ == piece_.size(); }
  char here() const { return piece_[at_]; }
  void Advance() {
    if (++at_ == piece_.size()) Fetch();
  }
  size_t size() const { return size_; }  // so far
  const Status& status() const { return status_; }

 private:
  void Fetch() {
    at_ = 0;
    piece_ = {};
    auto piece = next_();
    if (piece) {
      piece_ = *piece;
      size_ += piece_.size();
    } else {
      status_ = tl::make_unexpected(piece.error());
    }
  }

  const Pieces& next_;
  std::string_view piece_;
  size_t at_ = 0;
  size_t size_ = 0;
  Status status_;
};

class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Cursor() = default;  // the end
  explicit Cursor(Text& text) : text_(&text) {}
  char operator*() const { return text_->here(); }
  Cursor& operator++() {
    text_->Advance();
    return *this;
  }
  Cursor operator++(int) { return ++*this; }
  bool operator==(const Cursor& other) const { return at_end() == other.at_end(); }

 private:
  bool at_end() const { return text_ == nullptr || text_->at_end(); }
  Text* text_ = nullptr;
};

Result<json> ParseObject(std::string_view text) {
  auto document = ParseJson(text, kSmall);
  if (!document) return Fail(Code::kInternal, document.error().message);
  if (!document->is_object()) return Fail(Code::kInternal, "the answer is not an object");
  return std::move(*document);
}

// The object under `key`, or nullptr.
const json* ObjectAt(const json& object, const std::string& key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_object() ? &*it : nullptr;
}

bool IsTrue(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

uint64_t NumberAt(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned() ? it->get<uint64_t>() : 0;
}

std::string StringAt(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

constexpr const char* kFamilies[] = {"ipv4Unicast", "ipv6Unicast"};

// It ends its routes with a word of its own when both sides do graceful restart, in every family that both speak.
bool OwesEndOfRib(const json& neighbor) {
  const json* capabilities = ObjectAt(neighbor, "neighborCapabilities");
  if (capabilities == nullptr || StringAt(*capabilities, "gracefulRestart") != "advertisedAndReceived")
    return false;
  const json* restart = ObjectAt(neighbor, "gracefulRestartInfo");
  const json* ended = restart == nullptr ? nullptr : ObjectAt(*restart, "endOfRibRecv");
  const json* families = ObjectAt(*capabilities, "multiprotocolExtensions");
  if (ended == nullptr || families == nullptr) return false;
  return std::ranges::any_of(kFamilies, [&](const char* family) {
    const json* both = ObjectAt(*families, family);
    return both != nullptr && IsTrue(*both, "advertisedAndReceived") && !IsTrue(*ended, family);
  });
}

}  // namespace

Status DecodeRemotes(const Pieces& next, uint32_t community_asn, std::vector<Remote>& remotes) {
  const auto first = static_cast<std::ptrdiff_t>(remotes.size());
  TableReader reader{Chooser(community_asn, remotes)};
  Text text(next);
  const bool parsed = json::sax_parse(Cursor(text), Cursor(), &reader);
  RAIL_TRY(text.status());
  if (!parsed) return Fail(Code::kInternal, "bgpd's table: " + reader.error());
  // An empty table may be "{}"; anything else has routes.
  if (!reader.saw_object()) return Fail(Code::kInternal, "bgpd's table: it is no object");
  if (!reader.saw_routes() && text.size() > 64)
    return Fail(Code::kInternal, "bgpd's table: no \"routes\" in it");
  std::sort(remotes.begin() + first, remotes.end());
  return {};
}

Result<bool> DecodeInAdjRibOut(std::string_view text, const std::string& interface) {
  RAIL_ASSIGN_AS(const json prefix, ParseObject(text), "bgpd's answer about a prefix");
  const json* advertised = ObjectAt(prefix, "advertisedTo");
  if (advertised == nullptr || !advertised->contains(interface)) return false;
  const auto paths = prefix.find("paths");
  if (paths == prefix.end() || !paths->is_array()) return false;
  bool ours = false;
  for (const json& path : *paths) {
    if (!path.is_object()) continue;
    if (IsTrue(path, "processScheduled")) return false;
    if (IsTrue(path, "removed") || !(IsTrue(path, "sourced") || IsTrue(path, "local"))) continue;
    const json* best = ObjectAt(path, "bestpath");
    ours = ours || (best != nullptr && IsTrue(*best, "overall"));
  }
  return ours;
}

Result<std::vector<Session>> DecodeSessions(std::string_view text) {
  RAIL_ASSIGN_AS(const json summary, ParseObject(text), "bgpd's summary");
  std::map<std::string, Session> sessions;
  for (const char* family : kFamilies) {
    const json* section = ObjectAt(summary, family);
    const json* peers = section == nullptr ? nullptr : ObjectAt(*section, "peers");
    if (peers == nullptr) continue;
    for (const auto& [name, peer] : peers->items()) {
      if (!peer.is_object() || StringAt(peer, "idType") != "interface") continue;
      Session& session = sessions[name];
      session.interface = name;
      // A family that the peer did not negotiate has a state of its own; the session is up when one family
      // is.
      if (!session.established()) session.state = StringAt(peer, "state");
      session.uptime_ms = std::max(session.uptime_ms, NumberAt(peer, "peerUptimeMsec"));
      session.prefixes_received += static_cast<uint32_t>(NumberAt(peer, "pfxRcd"));
      session.prefixes_sent += static_cast<uint32_t>(NumberAt(peer, "pfxSnt"));
    }
  }
  std::vector<Session> list;
  for (auto& [name, session] : sessions) list.push_back(std::move(session));
  return list;
}

Result<uint64_t> DecodeTableVersion(std::string_view text) {
  RAIL_ASSIGN_AS(const json summary, ParseObject(text), "bgpd's summary");
  uint64_t version = 0;
  for (const char* family : kFamilies) {
    const json* section = ObjectAt(summary, family);
    // Not a plain sum: one family's loss must not hide behind the other's gain.
    version =
        version * 0x9e3779b97f4a7c15 + (section == nullptr ? 0 : NumberAt(*section, "tableVersion") + 1);
  }
  return version;
}

Result<std::string> DecodeState(std::string_view text, const std::string& interface) {
  RAIL_ASSIGN_AS(const json neighbors, ParseObject(text), "bgpd's answer about a neighbor");
  const json* neighbor = ObjectAt(neighbors, interface);
  if (neighbor == nullptr) return Fail(Code::kNotFound, "bgpd has no neighbor " + interface);
  std::string state = StringAt(*neighbor, "bgpState");
  if (state.empty()) return Fail(Code::kInternal, "bgpd's answer about a neighbor has no state");
  return state;
}

Status DecodeNeighbor(std::string_view text, Session& session) {
  RAIL_ASSIGN_AS(const json neighbors, ParseObject(text), "bgpd's answer about a neighbor");
  const json* neighbor = ObjectAt(neighbors, session.interface);
  if (neighbor == nullptr) return {};
  const auto address = IpAddress::Parse(StringAt(*neighbor, "bgpNeighborAddr"));
  if (address) session.peer = *address;  // "none" while no router advertisement has come
  session.owes_end_of_rib = session.established() && OwesEndOfRib(*neighbor);
  return {};
}

}  // namespace rail::frr
