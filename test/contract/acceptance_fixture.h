// The acceptance list of the CNI contract (ACCEPTANCE.md), one suite for each line, on a node of fakes: what the suites of
// cni_acceptance_*_test.cc begin with. What needs the built binaries alone is in cni_golden_test.cc, what needs Open vSwitch,
// FRR and a kernel in test/lab/test_contract*.py.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/cni/ipam.h"
#include "lib/cni/testing/request.h"
#include "plugins/testing/rail_chain.h"

namespace rail::testing {

// The plugins' places in the chain.
constexpr size_t kOvs = 0;
constexpr size_t kTenant = 1;
constexpr size_t kFrr = 2;

class Acceptance : public RailChainTest {
 protected:
  Acceptance();
  ~Acceptance() override;

  std::string Read(const std::string& name) const;
  // An IPAM plugin in a folder of its own; it logs its verbs in "calls" and keeps its input in "in.VERB".
  void Install(const std::string& name, const std::string& body) const;
  engine::Deps DepsWithRealIpam();
  // One verb of ovs-provider with a real delegation: IPAM plugin "x" of this folder.
  cni::testing::Ran WithRealIpam(const std::string& verb, const nlohmann::json& more);

  std::string folder_;
  cni::ExecIpam exec_;
};

}  // namespace rail::testing
