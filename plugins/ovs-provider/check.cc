#include "plugins/ovs-provider/ovs_provider.h"

#include <algorithm>

#include "lib/cni/previous.h"
#include "lib/engine/attach/differences.h"
#include "lib/engine/attach/tenant_addresses.h"
#include "plugins/ovs-provider/config.h"

namespace rail::ovs_provider {
namespace {

using cni::AddResult;
using cni::Outcome;
using cni::Request;
using engine::Deps;
using engine::Node;
using engine::VerbContext;
using state::Attachment;

// Where the result that the runtime keeps and the record disagree.
std::vector<std::string> Disagreements(const AddResult& previous, const Attachment& attachment) {
  std::vector<std::string> problems;
  const std::string& ifname = attachment.key.ifname;
  const auto inside = std::ranges::find_if(previous.interfaces, [&](const cni::Interface& interface) {
    return !interface.sandbox.empty() && interface.name == ifname;
  });
  if (inside == previous.interfaces.end()) {
    problems.push_back("prevResult lists no interface " + ifname + " in the pod");
  } else if (const auto mac = MacAddress::Parse(inside->mac);
             !inside->mac.empty() && (!mac || *mac != attachment.mac)) {
    problems.push_back("prevResult says that " + ifname + " has MAC " + inside->mac + ", the record says " +
                       attachment.mac.ToString());
  }
  for (const IpAddress& address : attachment.addresses) {
    if (std::ranges::none_of(previous.ips,
                             [&](const cni::IpConfig& ip) { return ip.address.address == address; }))
      problems.push_back("prevResult does not list address " + address.ToString());
  }
  return problems;
}

}  // namespace

Outcome<void> Check(const Deps& deps, const Request& request) {
  RAIL_ASSIGN(const Config config, ParseConfig(request));
  RAIL_ASSIGN(const AddResult previous, cni::PreviousResult(request));
  RAIL_ASSIGN(const auto context, VerbContext::Open(deps, VerbContext::Use::kQuiet));
  RAIL_TRY(engine::KeepsMode(*context));  // else every rule is another one
  RAIL_ASSIGN(const engine::Recorded recorded, engine::RecordedWithSteps(*context, request));
  const Attachment& attachment = recorded.attachment;
  RAIL_TRY(engine::KeepsVlan(context->config, attachment, recorded.steps));
  RAIL_ASSIGN(const config::Rail* rail, engine::RailOf(context->config, attachment.rail));
  Node node = context->node();
  std::vector<std::string> problems = Disagreements(previous, attachment);
  if (attachment.rail != config.rail) {
    problems.push_back("the configuration says rail " + config.rail + ", the record says rail " +
                       attachment.rail);
  }
  if (!recorded.Has(engine::step::kAdmit)) problems.emplace_back("its ADD has not finished");

  RAIL_ASSIGN_AS(const netns::Netns pod, netns::Netns::Open(request.netns), "CNI_NETNS");
  podnet::Plan plan = engine::PlanOf(*rail, attachment);
  plan.routes = engine::RoutesOf(previous);
  RAIL_ASSIGN(const std::vector<podnet::Deviation> inside, context->connections.Pods().Verify(pod, plan));
  for (const podnet::Deviation& deviation : inside) problems.push_back(deviation.what);
  if (const auto device = recorded.Step(engine::step::kDevice)) {
    RAIL_ASSIGN(const device::Saved saved, device::Saved::FromJson(device->detail));
    RAIL_ASSIGN(device::Backend * devices, context->connections.Devices());
    RAIL_ASSIGN(std::vector<std::string> changed, devices->Verify(saved, config.device, pod));
    problems.insert(problems.end(), changed.begin(), changed.end());
  }

  RAIL_ASSIGN(const engine::Differences port, engine::PortDiffers(node, *rail, attachment));
  problems.insert(problems.end(), port.begin(), port.end());
  RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node, *rail));
  std::vector<ovs::Rule> wanted = pipeline::ControlRules(bridge, context->config.tenancy.mode);
  pipeline::Append(wanted, pipeline::AdmitRules(bridge, engine::PodOf(bridge, attachment)));
  RAIL_ASSIGN(const engine::Differences missing, engine::RulesDiffer(node, attachment, wanted));
  problems.insert(problems.end(), missing.begin(), missing.end());
  RAIL_TRY(engine::Problems(problems));
  if (cni::HasIpam(request) && !attachment.adopted) {
    return deps.ipam->Check(request, context->connections.IpamDeadline());
  }
  return {};
}

}  // namespace rail::ovs_provider
