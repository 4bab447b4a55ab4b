// KEYS.md is what the rows of the keys say (RAILCNI_WRITE_KEYS=1 writes it), and each row with a range refuses what is outside.
#include "lib/config/keys.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

namespace rail::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kBegin[] =
    "# Keys of node.json\n"
    "\n"
    "Made of the rows of `keys*.cc` by `RAILCNI_WRITE_KEYS=1 config_test`: change them there. The last "
    "column says what a change of\n"
    "the key needs of a raild that runs ([more](README.md#changes-while-raild-runs)).\n"
    "\n"
    "| key | when absent | values | what it is | a change |\n"
    "|---|---|---|---|---|\n";

// Calls `visit` with each key and its path: "rails[].mtu".
void Walk(const KeyTable& table, const std::string& path,
          const std::function<void(const Key&, const std::string&)>& visit) {
  for (const Key& key : table.keys) {
    const std::string place = path + std::string(key.name);
    visit(key, place);
    if (key.rule.keys != nullptr) Walk(*key.rule.keys, place + std::string(key.rule.each) + ".", visit);
  }
}

template <class T>
bool Reads(const Key& key) {
  return key.read == &ReadAs<T> || key.read == &ReadAs<std::optional<T>>;
}
bool IsNumber(const Key& key) {
  return Reads<uint8_t>(key) || Reads<uint16_t>(key) || Reads<uint32_t>(key);
}

// How many items a list has.
bool HasLength(const Key& key) {
  return !IsNumber(key) && key.rule.most != Rule().most;
}

std::string Values(const Key& key) {
  const std::string range = std::to_string(key.rule.least) + ".." + std::to_string(key.rule.most);
  return IsNumber(key) ? range : HasLength(key) ? range + " items" : key.rule.Says();
}

std::string Reference() {
  std::string text = kBegin;
  Walk(kNodeKeys, "", [&](const Key& key, const std::string& path) {
    const bool is_section = key.rule.keys != nullptr && key.same == nullptr;
    if (is_section && key.words.empty()) return;
    const bool is_json = nlohmann::json::accept(key.absent);
    text += "| `" + path + "` | " + (is_json ? "`" + std::string(key.absent) + "`" : std::string(key.absent));
    text += " | " + Values(key);
    text += " | " + std::string(key.words) + " | ";
    text += std::string(is_section ? "" : key.takes == Takes::kAtOnce ? "at once" : "restart") + " |\n";
  });
  return text;
}

TEST(Keys, AreThoseOfTheReference) {
  const std::string wanted = Reference();
  if (std::getenv("RAILCNI_WRITE_KEYS") != nullptr) std::ofstream(RAILCNI_KEYS) << wanted;
  std::ifstream file(RAILCNI_KEYS);
  const std::string there((std::istreambuf_iterator<char>(file)), {});
  const auto [now, was] = std::ranges::mismatch(wanted, there);
  const auto line = [](const std::string& of, std::string::const_iterator at) {
    const size_t begin = of.rfind('\n', static_cast<size_t>(at - of.begin()));
    return of.substr(begin == std::string::npos ? 0 : begin + 1, 300);
  };
  EXPECT_TRUE(wanted == there) << "the rows say:\n"
                               << line(wanted, now) << "\nthe file says:\n"
                               << line(there, was) << "\nRAILCNI_WRITE_KEYS=1 writes it";
}

// Has each object of the file.
constexpr std::string_view kAll = R"({
  "cluster": "c",
  "rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br0", "rail": 3, "manage_sriov": true, "num_vfs": 8,
             "devices": [{"device": "vf0", "representor": "rep0"}]}],
  "lossless": {"pfc": [3]},
  "rates": {"default": {"max": "9gbit"}, "tenants": {"red": {"max": "9gbit"}}},
  "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1},
  "api": {"listen": "10.0.0.5:9443", "cert_file": "/c", "key_file": "/k", "client_ca_file": "/a"},
  "bursts": {"every_ms": 10},
  "frontend": {"links": ["m1", "m2"], "addresses": ["192.0.2.11/32"]},
  "topology": {"labels": {}}})";

// What is said of the value at the path of a row, when all else is right.
std::vector<std::string> ProblemsAt(const std::string& path, const nlohmann::json& value) {
  std::string pointer = "/" + path;
  for (const auto& [from, to] :
       std::initializer_list<std::pair<std::string, std::string>>{{"[]", ".0"}, {".*", ".red"}, {".", "/"}}) {
    for (size_t at = pointer.find(from); at != std::string::npos; at = pointer.find(from))
      pointer.replace(at, from.size(), to);
  }
  nlohmann::json document = nlohmann::json::parse(kAll);
  document[nlohmann::json::json_pointer(pointer)] = value;
  std::vector<std::string> problems;
  for (const JsonError& problem : ProblemsOf(document)) problems.push_back(problem.what);
  return problems;
}

TEST(Keys, EndWhereTheirRangesEnd) {
  size_t ranges = 0;
  Walk(kNodeKeys, "", [&](const Key& key, const std::string& path) {
    if (!IsNumber(key)) return;
    ++ranges;
    const std::string range = "must be a whole number from " + std::to_string(key.rule.least) + " to " +
                              std::to_string(key.rule.most);
    for (const uint64_t right : {key.rule.least, key.rule.most})
      EXPECT_THAT(ProblemsAt(path, right), Not(Contains(range))) << path;
    EXPECT_THAT(ProblemsAt(path, key.rule.most + 1), Contains(range)) << path;
    EXPECT_THAT(ProblemsAt(path, static_cast<int64_t>(key.rule.least) - 1), Contains(range)) << path;
  });
  EXPECT_EQ(ranges, 18U);
}

TEST(Keys, HaveAsManyItemsAsTheirRowsSay) {
  size_t lists = 0;
  Walk(kNodeKeys, "", [&](const Key& key, const std::string& path) {
    if (!HasLength(key)) return;
    ++lists;
    const auto length = [&](uint64_t items) { return ProblemsAt(path, nlohmann::json(items, "x")); };
    const auto refusal = HasSubstr("must list " + std::to_string(key.rule.least) + " to " +
                                   std::to_string(key.rule.most) + ", and lists ");
    for (const uint64_t right : {key.rule.least, key.rule.most})
      EXPECT_THAT(length(right), Not(Contains(refusal))) << path;
    for (const uint64_t wrong : {key.rule.least - 1, key.rule.most + 1})
      EXPECT_THAT(length(wrong), Contains(refusal)) << path;
  });
  EXPECT_EQ(lists, 3U);
}

TEST(Keys, EndWhereTheirLongestTextsEnd) {
  const std::tuple<const char*, std::string, size_t> kTexts[] = {
      {"cluster", "", 63},           {"rails[].name", "", 15},         {"rails[].pf", "", 15},
      {"ovs.db", "unix:/", 5 + 107}, {"ovs.run_dir", "/", 86},         {"frr.run_dir", "/", 86},
      {"api.cert_file", "/", 4095},  {"api.key_file", "/", 4095},      {"api.client_ca_file", "/", 4095},
      {"topology.unit", "", 63},     {"topology.labels.unit", "", 63}, {"topology.labels.leaf", "", 63 - 15},
      {"kubelet.folder", "/", 70},
  };
  for (const auto& [path, start, most] : kTexts) {
    EXPECT_THAT(ProblemsAt(path, start + std::string(most - start.size(), 'x')), IsEmpty()) << path;
    EXPECT_THAT(ProblemsAt(path, start + std::string(most + 1 - start.size(), 'x')),
                ElementsAre(HasSubstr(" must be ")))
        << path;
  }
}

}  // namespace
}  // namespace rail::config
