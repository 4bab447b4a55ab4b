#include "lib/guard/testing/fake.h"

#include "lib/guard/program.h"

namespace rail::guard::testing {

void Fake::RemoveLink(const std::string& link) {
  links_.erase(link);
  others_.erase(link);
  guards_.erase(link);
}

void Fake::Refuse(const std::string& link, Reason reason, uint64_t frames) {
  guards_.at(link).refused.frames.at(static_cast<size_t>(reason)) += frames;
}

Status Fake::Exists(const std::string& link) const {
  if (links_.contains(link)) return {};
  return Fail(Code::kNotFound, "there is no link " + link);
}

Status Fake::MayHave(const std::string& link) const {
  RAIL_TRY(Exists(link));
  if (others_.contains(link)) return Fail(Code::kExists, link + " has an XDP program of others");
  return {};
}

Status Fake::Close(const std::string& representor) {
  RAIL_TRY(MayHave(representor));
  guards_[representor] = {};
  return {};
}

Status Fake::Allow(const std::string& representor, const Allowed& allowed) {
  RAIL_ASSIGN(const Facts facts, FactsOf(allowed));
  (void)facts;
  RAIL_TRY(MayHave(representor));
  State& guard = guards_[representor];
  guard.open = false;
  guard.allowed = allowed;
  return {};
}

Result<bool> Fake::Holds(const std::string& representor, const Allowed& allowed) {
  RAIL_TRY(Exists(representor));
  const auto it = guards_.find(representor);
  return it != guards_.end() && !it->second.open && it->second.allowed == allowed;
}

Result<Refused> Fake::Count(const std::string& representor) {
  RAIL_TRY(Exists(representor));
  const auto it = guards_.find(representor);
  return it == guards_.end() ? Refused() : it->second.refused;
}

Result<size_t> Fake::Forget(const std::string& representor, Clock::duration idle) {
  RAIL_TRY(Exists(representor));
  const auto it = guards_.find(representor);
  if (it == guards_.end()) return Fail(Code::kNotFound, representor + " has no guard");
  const Clock::time_point now = Clock::now();
  std::erase_if(it->second.seen, [&](const auto& one) { return one.second + idle <= now; });
  return it->second.seen.size();
}

Status Fake::Open(const std::string& representor) {
  const auto it = guards_.find(representor);
  if (it != guards_.end()) it->second.open = true;
  return {};
}

Result<std::vector<std::string>> Fake::RemoveAll() {
  std::vector<std::string> removed;
  for (const auto& [link, state] : guards_) removed.push_back(link);
  guards_.clear();
  return removed;
}

}  // namespace rail::guard::testing
