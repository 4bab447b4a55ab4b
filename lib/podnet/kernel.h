// PodNet for this host's pods, on the kernel.
//
// Use:      podnet::Kernel pods;  RAIL_TRY(pods.Configure(pod, plan));
// Threads:  any; each call makes its own thread, which works inside the pod
// Source:   podnet.h
#pragma once

#include <string>
#include <vector>

#include "lib/podnet/podnet.h"

namespace rail::podnet {

class Kernel : public PodNet {
 public:
  Result<bool> HasLink(const netns::Netns& pod, const std::string& name) override;
  Status Configure(const netns::Netns& pod, const Plan& plan) override;
  Status Deconfigure(const netns::Netns& pod, const Plan& plan) override;
  Result<std::vector<Deviation>> Verify(const netns::Netns& pod, const Plan& plan) override;
};

}  // namespace rail::podnet
