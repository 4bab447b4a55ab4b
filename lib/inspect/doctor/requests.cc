#include "lib/inspect/requests.h"

#include <map>

#include "lib/inspect/doctor/subjects.h"

namespace rail::inspect {
namespace {

class Requests : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    const std::vector<Request> requests =
        RequestsOnRails(facts_.machinery.pods, facts_.machinery.machine, view_);
    std::map<std::string, std::string> given_out;  // by rail, as what the kubelet gives out its devices
    for (const Request& one : requests) {
      if (!one.devices.empty()) given_out.emplace(one.rail, one.resource);
    }
    for (const Request& one : requests) {
      const std::string pod = one.pod_namespace + "/" + one.pod;
      if (const std::string what = WithoutNetwork(one); !what.empty()) {
        Find(Severity::kWarning, "rail-without-network", pod, what,
             "the VF is taken and does nothing: NCCL goes another way, at a fraction of the rate, or nowhere",
             NetworkRemedy(one));
      }
      if (one.interfaces > one.devices.size() && given_out.contains(one.rail)) {
        Find(Severity::kWarning, "network-without-resource", pod,
             fmt::format("it has {} interfaces on {}, and the kubelet has given it {} devices of that rail",
                         one.interfaces, one.rail, one.devices.size()),
             "the kubelet takes the VF for free: it gives it to another pod, which then does not start",
             Asking(given_out[one.rail], one.rail));
      }
    }
  }

 private:
  static std::string Asking(const std::string& resource, const std::string& rail) {
    // A driver's name has no "/", and an extended resource has one.
    if (resource.find('/') == std::string::npos)
      return fmt::format("let a claim of the pod request one device of {} for each of its networks there",
                         rail);
    return fmt::format(
        "let the pod request one device of {} for each of its networks there, in requests and "
        "limits: the network's annotation k8s.v1.cni.cncf.io/resourceName says what it is called",
        rail);
  }
};

}  // namespace

void ExamineRequests(const NodeFacts& facts, std::vector<Finding>& found) {
  Requests(facts, found).Run();
}

}  // namespace rail::inspect
