// KEYS.md is what the rows of the keys say (RAILCNI_WRITE_KEYS=1 writes it), and each row with a range refuses what is outside.
#include "lib/config/keys.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lib/config/document.h"

namespace rail::config {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

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

std::string Reference() {
  std::string text = kBegin;
  Walk(kNodeKeys, "", [&](const Key& key, const std::string& path) {
    const bool is_section = key.rule.keys != nullptr && key.same == nullptr;
    if (is_section && key.words.empty()) return;
    const bool is_json = nlohmann::json::accept(key.absent);
    text += "| `" + path + "` | " + (is_json ? "`" + std::string(key.absent) + "`" : std::string(key.absent));
    text += " | " + (IsNumber(key) ? std::to_string(key.rule.least) + ".." + std::to_string(key.rule.most)
                                   : key.rule.Says());
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
  "bursts": {"every_ms": 10},
  "topology": {"labels": {}}})";

TEST(Keys, EndWhereTheirRangesEnd) {
  const nlohmann::json all = nlohmann::json::parse(kAll);
  ASSERT_THAT(ProblemsOf(all), IsEmpty());
  size_t ranges = 0;
  Walk(kNodeKeys, "", [&](const Key& key, std::string path) {
    if (!IsNumber(key)) return;
    ++ranges;
    std::string pointer = "/" + path;
    for (const auto& [from, to] : std::initializer_list<std::pair<std::string, std::string>>{
             {"[].", "/0/"}, {"tenants.*.", "tenants/red/"}, {".", "/"}}) {
      for (size_t at = pointer.find(from); at != std::string::npos; at = pointer.find(from))
        pointer.replace(at, from.size(), to);
    }
    const auto with = [&](const nlohmann::json& value) {
      nlohmann::json document = all;
      document[nlohmann::json::json_pointer(pointer)] = value;
      std::vector<std::string> problems;
      for (const JsonError& problem : ProblemsOf(document)) {
        if (problem.what.starts_with("must be a whole number from")) problems.push_back(problem.what);
      }
      return problems;
    };
    const std::string range = "must be a whole number from " + std::to_string(key.rule.least) + " to " +
                              std::to_string(key.rule.most);
    for (const uint64_t right : {key.rule.least, key.rule.most}) EXPECT_THAT(with(right), IsEmpty()) << path;
    EXPECT_THAT(with(key.rule.most + 1), Contains(range)) << path;
    EXPECT_THAT(with(static_cast<int64_t>(key.rule.least) - 1), Contains(range)) << path;
  });
  EXPECT_EQ(ranges, 17U);
}

}  // namespace
}  // namespace rail::config
