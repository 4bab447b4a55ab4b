// What others have changed on a bridge and a round of repair has put right, and the sentence about it for the log.
//
// Use:      MendedRules mended;  mended.Missing(rule.cookie);
//           pending.Join(mended);  if (!pending.empty()) log::Warning("rail {}: {}", rail, WordsFor(pending, "br-rail0", record));
// Threads:  plain data
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/attach/record.h"
#include "lib/ovs/rule.h"

namespace rail::engine {

struct MendedRules {
  uint64_t missing = 0;                     // rules of ours
  uint64_t changed = 0;                     // rules of ours with other actions or another cookie
  uint64_t unexplained = 0;                 // rules with a cookie of ours that nobody wants
  uint64_t foreign = 0;                     // rules of others
  std::set<uint64_t> cookies;               // of the first kMostCookies of ours
  std::vector<ovs::Rule> foreign_examples;  // the first few

  static constexpr size_t kMostCookies = 64;

  void Missing(uint64_t cookie) { Count(missing, cookie); }
  void Changed(uint64_t cookie) { Count(changed, cookie); }
  void Unexplained(uint64_t cookie) { Count(unexplained, cookie); }
  void Join(const MendedRules& more);
  uint64_t ours() const { return missing + changed + unexplained; }
  bool empty() const { return ours() + foreign == 0; }

 private:
  void Count(uint64_t& count, uint64_t cookie) {
    ++count;
    if (cookies.size() < kMostCookies) cookies.insert(cookie);
  }
};

// "2 rules of br-rail0 put right (1 missing, 1 changed), of tenant-a/a1 net1 (tenant tenant-a) and of remotes; ..."
std::string WordsFor(const MendedRules& mended, const std::string& bridge, const Record& record);

}  // namespace rail::engine
