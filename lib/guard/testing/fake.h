// Guards in memory.
//
// Use:      Fake guard({"rep0", "rep1"});
//           guard.Refuse("rep0", Reason::kMac, 7);      // as if its pod had sent so many
//           guard.AddOther("rep1");                     // a program of others
// Threads:  one at a time
// Source:   test/contract/guard_contract_test.cc: what that holds of the kernel holds here
#pragma once

#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "lib/guard/guard.h"

namespace rail::guard::testing {

inline uint64_t All(const Refused& refused) {
  return std::accumulate(refused.frames.begin(), refused.frames.end(), uint64_t{0});
}

class Fake : public Guard {
 public:
  struct State {
    bool open = false;               // everything passes
    std::optional<Allowed> allowed;  // nullopt: everything is refused
    Refused refused;
    std::map<IpAddress, Clock::time_point> seen;
  };

  void AddLink(const std::string& link) { links_.insert(link); }
  // Its guard goes with it.
  void RemoveLink(const std::string& link);
  void AddOther(const std::string& link) { others_.insert(link); }
  void Refuse(const std::string& link, Reason reason, uint64_t frames);
  void Speak(const std::string& link, const IpAddress& to) { guards_.at(link).seen[to] = Clock::now(); }
  // As if somebody had taken its guard away.
  void TakeAway(const std::string& link) { guards_.erase(link); }
  // The links that have a guard, and its state.
  const std::map<std::string, State>& guards() const { return guards_; }

  Status Close(const std::string& representor) override;
  Status Allow(const std::string& representor, const Allowed& allowed) override;
  Result<bool> Holds(const std::string& representor, const Allowed& allowed) override;
  Result<Refused> Count(const std::string& representor) override;
  Result<size_t> Forget(const std::string& representor, Clock::duration idle) override;
  Status Open(const std::string& representor) override;
  Result<std::vector<std::string>> RemoveAll() override;

 private:
  Status MayHave(const std::string& link) const;
  Status Exists(const std::string& link) const;

  std::set<std::string> links_;
  std::set<std::string> others_;
  std::map<std::string, State> guards_;
};

}  // namespace rail::guard::testing
