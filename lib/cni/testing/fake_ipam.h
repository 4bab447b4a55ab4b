// Address management in memory: hands out the addresses of a list, in order, one for each attachment.
//
// Use:      FakeIpam ipam({"10.0.3.7/24", "10.0.3.8/24"});
//           ipam.FailNext(CniError(11, "the daemon is down"));        // the next call of a verb fails so
//           EXPECT_TRUE(ipam.held().empty());
// Threads:  one
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/cni/ipam.h"

namespace rail::cni::testing {

class FakeIpam : public Ipam {
 public:
  explicit FakeIpam(std::vector<std::string> prefixes) : prefixes_(std::move(prefixes)) {}

  // As the real one: a second Add of an attachment fails, and the DEL that follows a failed ADD gives the address back. As
  // whereabouts it gives what IP in CNI_ARGS asks for ("10.0.3.7/24,..."), whoever holds it.
  Outcome<AddResult> Add(const Request& request, Deadline deadline) override;
  Outcome<void> Del(const Request& request, Deadline deadline) override;
  Outcome<void> Check(const Request& request, Deadline deadline) override;
  Outcome<void> Forward(const Request& request, Deadline deadline) override;

  void FailNext(CniError error) { failure_ = std::move(error); }
  // The next Add gives this one, whoever holds it: as the IPAM of another network, which has the same range, would.
  void GiveNext(std::string prefix) { next_ = std::move(prefix); }
  // The next Add gives this whole answer.
  void AnswerNext(AddResult answer) { answer_ = std::move(answer); }
  // Every call fails so from now on, as that of a plugin that does not take the runtime's CNI_ARGS.
  void Refuse(CniError error) { refusal_ = std::move(error); }
  // "network/container/ifname" -> prefix.
  const std::map<std::string, std::string>& held() const { return held_; }

 private:
  Outcome<void> TakeFailure();
  // `prefixes`: one or more, with commas between them.
  Outcome<AddResult> Give(const std::string& key, const std::string& prefixes);

  std::vector<std::string> prefixes_;
  std::map<std::string, std::string> held_;
  std::optional<std::string> next_;
  std::optional<AddResult> answer_;
  std::optional<CniError> failure_;
  std::optional<CniError> refusal_;
};

}  // namespace rail::cni::testing
