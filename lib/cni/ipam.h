// Address management by another plugin, called as the runtime would call it.
//
// Use:      RAIL_ASSIGN(AddResult addresses, ipam.Add(request, deadline));
// Threads:  one
// Source:   CNI SPEC.md 1.1.0 section 4 "Plugin delegation"
#pragma once

#include <string>

#include "lib/base/clock.h"
#include "lib/cni/request.h"
#include "lib/cni/result.h"

namespace rail::cni {

class Ipam {
 public:
  virtual ~Ipam() = default;

  // Runs the plugin named by "ipam.type" of the request's configuration, found in CNI_PATH, with the request's environment
  // and configuration. When its version list does not hold the configuration's version it is called in the newest version
  // that both speak. A failed ADD is followed by a DEL. Its error comes back with its own code and text.
  virtual Outcome<AddResult> Add(const Request& request, Deadline deadline) = 0;
  virtual Outcome<void> Del(const Request& request, Deadline deadline) = 0;
  virtual Outcome<void> Check(const Request& request, Deadline deadline) = 0;
};

// Whether the configuration has an "ipam" object with a "type".
bool HasIpam(const Request& request);

class ExecIpam : public Ipam {
 public:
  Outcome<AddResult> Add(const Request& request, Deadline deadline) override;
  Outcome<void> Del(const Request& request, Deadline deadline) override;
  Outcome<void> Check(const Request& request, Deadline deadline) override;
};

// Runs `type` with a configuration and environment that the caller made: what undo does from the record alone.
Outcome<std::string> ExecPlugin(const std::string& type, const std::vector<std::string>& path,
                                const std::map<std::string, std::string>& cni_environment, const std::string& config,
                                Deadline deadline);

}  // namespace rail::cni
