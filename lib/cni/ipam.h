// Address management by another plugin, called as the runtime would call it.
//
// Use:      IpamCall call = MakeIpamCall(request);                  // record it first: it can give the address back
//           RAIL_ASSIGN(AddResult addresses, ipam.Add(request, deadline));
//           RAIL_TRY(Release(call, deadline));                      // in DEL, or from the record alone
// Threads:  one
// Source:   CNI SPEC.md 1.1.0 section 4 "Plugin delegation"
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/cni/request.h"
#include "lib/cni/result.h"

namespace rail::cni {

// Errors of every verb: the plugin's own code, and its text after "ipam <type>: "; 7 the configuration names no
// plugin; 101 the plugin is not in CNI_PATH; 11 the deadline passed (its process group is killed; had it passed
// before the call, the plugin is not run), or the plugin is being installed; 105 the plugin died, or its answer is no result. A plugin's codes 0 and 3 become 105: 3 would
// tell the runtime that no DEL is needed.
class Ipam {
 public:
  virtual ~Ipam() = default;

  // Runs the plugin that "ipam.type" of the request's configuration names, from CNI_PATH, with the request's
  // environment and configuration. If the plugin does not support the configuration's version, calls it in the
  // newest version that both support. Calls DEL after an ADD that failed. Must not be repeated without a Del.
  virtual Outcome<AddResult> Add(const Request& request, Deadline deadline) = 0;
  // Gives the addresses of the attachment back. May be repeated, also without an Add.
  virtual Outcome<void> Del(const Request& request, Deadline deadline) = 0;
  // Errors: also, the attachment's addresses are no longer reserved. Succeeds if the plugin is too old for CHECK, or answers
  // that it does not implement CHECK.
  virtual Outcome<void> Check(const Request& request, Deadline deadline) = 0;
  // Forwards the request's command, GC or STATUS, to a plugin that supports 1.1.0. Succeeds without a call if the
  // plugin is older.
  virtual Outcome<void> Forward(const Request& request, Deadline deadline) = 0;
};

// Whether an ADD that failed so has given no address for certain: the plugin refused it, or was never run. After any other
// failure (the plugin died, was killed, or gave an answer that is none) only its DEL gives certainty.
bool GaveNothing(const CniError& error);

// Whether the configuration delegates addresses: it has an "ipam" other than null, {} and {"type": ""}. An "ipam"
// of the wrong type counts too, so that the verb reports what is wrong with it.
bool HasIpam(const Request& request);

class ExecIpam : public Ipam {
 public:
  Outcome<AddResult> Add(const Request& request, Deadline deadline) override;
  Outcome<void> Del(const Request& request, Deadline deadline) override;
  Outcome<void> Check(const Request& request, Deadline deadline) override;
  Outcome<void> Forward(const Request& request, Deadline deadline) override;
};

// One delegation as data: everything that is needed to call the plugin again, later, from another process.
struct IpamCall {
  std::string type;
  std::vector<std::string> path;                   // CNI_PATH
  std::map<std::string, std::string> environment;  // the CNI_ variables except CNI_COMMAND
  std::string config;                              // the whole network configuration

  std::string ToJson() const;
  // Errors: kInvalid, naming every key that is wrong, is missing or is unknown.
  static Result<IpamCall> FromJson(const std::string& text);
  bool operator==(const IpamCall&) const = default;
};

// `type` is "" when the configuration names none.
IpamCall MakeIpamCall(const Request& request);

// DEL of `call`, as Ipam::Del. May be repeated.
Outcome<void> Release(const IpamCall& call, Deadline deadline);

// Runs `type`, found in the folders of `path`, once, and returns what it wrote to stdout.
//   cni_environment  the CNI_ variables of the plugin. From our environment the plugin inherits CNI_NETNS_OVERRIDE and
//                    every variable that is not a CNI_ variable
//   config           its standard input
// The plugin writes to our stderr. Errors: as Ipam.
Outcome<std::string> ExecPlugin(const std::string& type, const std::vector<std::string>& path,
                                const std::map<std::string, std::string>& cni_environment,
                                const std::string& config, Deadline deadline);

}  // namespace rail::cni
