// Address management by another plugin, called as the runtime would call it.
//
// Use:      IpamCall call = MakeIpamCall(request);                  // recorded first: what gives the address
// back
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

// Errors of every verb: what the plugin said, with its own code, and its text after "ipam <type>: "; 7 a
// configuration that names no plugin; 101 the plugin is not in CNI_PATH; 11 the deadline (its process group
// is killed), or it is being installed; 105 it died, or its answer is no result. Codes 0 and 3 of a plugin
// become 105: 3 would tell the runtime that nothing needs a DEL.
class Ipam {
 public:
  virtual ~Ipam() = default;

  // Runs the plugin named by "ipam.type" of the request's configuration, found in CNI_PATH, with the
  // request's environment and configuration. When its version list does not hold the configuration's version
  // it is called in the newest version that both speak. A failed ADD is followed by a DEL. Not to be repeated
  // without a Del.
  virtual Outcome<AddResult> Add(const Request& request, Deadline deadline) = 0;
  // Gives the addresses of the attachment back. May be repeated, also without an Add.
  virtual Outcome<void> Del(const Request& request, Deadline deadline) = 0;
  // Errors: also that the attachment's addresses are no longer reserved. A plugin too old for CHECK, or that answers that it
  // has none, has nothing to say.
  virtual Outcome<void> Check(const Request& request, Deadline deadline) = 0;
  // Forwards GC or STATUS, whichever the request's command is, to a plugin that speaks 1.1.0; others have
  // nothing to say.
  virtual Outcome<void> Forward(const Request& request, Deadline deadline) = 0;
};

// Whether addresses are delegated: an "ipam" other than null, {} and {"type": ""}. One of the wrong shape
// counts, so that the verb tells what is wrong with it.
bool HasIpam(const Request& request);

class ExecIpam : public Ipam {
 public:
  Outcome<AddResult> Add(const Request& request, Deadline deadline) override;
  Outcome<void> Del(const Request& request, Deadline deadline) override;
  Outcome<void> Check(const Request& request, Deadline deadline) override;
  Outcome<void> Forward(const Request& request, Deadline deadline) override;
};

// One delegation as data: all that is needed to call the plugin again, later, from another process.
struct IpamCall {
  std::string type;
  std::vector<std::string> path;                   // CNI_PATH
  std::map<std::string, std::string> environment;  // the CNI_ variables but CNI_COMMAND
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
//   cni_environment  every CNI_ variable that it shall see, CNI_NETNS_OVERRIDE aside, which it gets from us; of ours it
//                    gets all others
//   config           its standard input
// Its stderr is ours. Errors: as Ipam.
Outcome<std::string> ExecPlugin(const std::string& type, const std::vector<std::string>& path,
                                const std::map<std::string, std::string>& cni_environment,
                                const std::string& config, Deadline deadline);

}  // namespace rail::cni
