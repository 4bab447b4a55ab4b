#include "plugins/frr-provider/frr_provider.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/cni/previous.h"
#include "lib/engine/attach/differences.h"
#include "lib/engine/attach/tenant_link.h"
#include "lib/engine/attach/verb_context.h"
#include "plugins/frr-provider/config.h"

namespace rail::frr_provider {
namespace {

using cni::Outcome;
using cni::Request;
using engine::Deps;
using engine::Node;
using engine::VerbContext;
using state::Attachment;

// Where tenants are kept apart, an address without a tenant is not announced: nobody could use it, and nobody should.
Status HasTenant(const VerbContext& context, const Attachment& attachment) {
  if (context.config.tenancy.mode == config::TenancyMode::kOff || !attachment.tenant_id.is_none()) return {};
  return Fail(Code::kInvalid,
              "the pod has no tenant: tenant-isolation must stand before frr-provider in the chain "
              "(tenancy.mode is not \"off\" in node.json)");
}

// A tenant's first pod waits for a session that this ADD has made. Both ends of an unnumbered session wait for the other's router
// advertisement, and say it every ten seconds by themselves, so the leaf is asked for it. Not possible while the link's own address is
// new. The next one helps then.
frr::SessionHelp HelpFor(const Deps& deps, const engine::Announcer& announcer) {
  if (announcer.vlan == config::kNoVlan) return {};
  frr::SessionHelp help;
  help.advice = ": is VLAN " + std::to_string(announcer.vlan) +
                " a subinterface of the leaf's port, in the tenant's VRF?";
  if (deps.solicit_routers)
    help.speed_up = [&deps, interface = announcer.interface] { (void)deps.solicit_routers(interface); };
  return help;
}

Status AnnounceAndWait(const Deps& deps, VerbContext& context, Node& node, Attachment& attachment,
                       const Config& config) {
  RAIL_ASSIGN(const config::Rail* rail, engine::RailOf(context.config, attachment.rail));
  RAIL_TRY(engine::Announce(node, attachment));
  RAIL_ASSIGN(const engine::Announcer announcer,
              engine::AnnouncerOf(context.config, *rail, attachment.tenant));
  RAIL_ASSIGN(frr::Bgp * bgpd, context.connections.Bgp());
  frr::Bgp& bgp = bgpd->Instance(announcer.vrf);
  const bool in_vlan = announcer.vlan != config::kNoVlan;
  const auto wait = config.wait.value_or(in_vlan ? kVrfWait : kWait);
  if (wait.count() == 0) return {};
  const Deadline deadline = std::min(After(wait), context.connections.until());
  Status reached;
  if (in_vlan || config.wait_for == WaitFor::kSession)
    reached = bgp.WaitEstablished(announcer.interface, deadline, HelpFor(deps, announcer));
  if (reached && config.wait_for == WaitFor::kAdjRibOut)
    reached = bgp.WaitAdjRibOut(attachment.addresses, announcer.interface, deadline);
  if (reached || config.on_timeout == OnTimeout::kFail) return reached;
  log::Warning("attachment {}: {}; the pod starts all the same (on_timeout is \"warn\")",
               attachment.key.ToString(), reached.error().message);
  return {};
}

Outcome<std::string> Add(const Deps& deps, const Request& request) {
  RAIL_ASSIGN(const Config config, ParseConfig(request));
  RAIL_ASSIGN(std::string result, cni::PassOn(request));
  RAIL_ASSIGN(const auto context, VerbContext::Open(deps));
  context->connections.LetCallsTake(engine::kAddCallTime);
  RAIL_ASSIGN(Attachment attachment, AttachmentOf(*context, request, config));
  RAIL_TRY(HasTenant(*context, attachment));
  Node node = context->node();
  if (Status announced = AnnounceAndWait(deps, *context, node, attachment, config); !announced) {
    engine::UndoFailedAdd(node, attachment, IsAlone(attachment) ? "" : engine::kFrrProvider);
    return tl::make_unexpected(cni::CniError(announced.error()));
  }
  return result;
}

Outcome<void> Del(const Deps& deps, const Request& request) {
  engine::UndoOwn(deps, request, [](const Attachment& attachment) {
    return IsAlone(attachment) ? ""
                               : engine::kFrrProvider;  // nobody else undoes the record of one that is alone
  });
  return {};
}

Outcome<void> Check(const Deps& deps, const Request& request) {
  RAIL_ASSIGN(const Config config, ParseConfig(request));
  RAIL_TRY(cni::PreviousResult(request));
  RAIL_ASSIGN(const auto context, VerbContext::Open(deps, VerbContext::Use::kQuiet));
  RAIL_ASSIGN(const engine::Recorded recorded, engine::RecordedWithSteps(*context, request));
  const Attachment& attachment = recorded.attachment;
  RAIL_ASSIGN(const config::Rail* rail, engine::RailOf(context->config, attachment.rail));
  RAIL_TRY(HasTenant(*context, attachment));
  std::vector<std::string> problems;
  if (!recorded.Has(engine::step::kAnnounce))
    problems.emplace_back("its ADD has not finished: nothing is announced");
  Node node = context->node();
  RAIL_ASSIGN(const engine::Announcer announcer,
              engine::AnnouncerOf(context->config, *rail, attachment.tenant));
  RAIL_ASSIGN(frr::Bgp * bgpd, context->connections.Bgp());
  frr::Bgp& bgp = bgpd->Instance(announcer.vrf);
  RAIL_ASSIGN(const std::vector<frr::Announcement> announced,
              bgp.Announced(context->connections.CallDeadline()));
  RAIL_ASSIGN(const engine::Differences differs,
              engine::AnnouncementDiffers(node, *rail, attachment, announced));
  problems.insert(problems.end(), differs.begin(), differs.end());
  RAIL_TRY(engine::Problems(problems));
  // ADD does not wait for the Adj-RIB-Out unless it is configured to. Right after it the address may still be on its way.
  RAIL_TRY(bgp.WaitAdjRibOut(attachment.addresses, announcer.interface, After(std::chrono::seconds(2))));
  return {};
}

Outcome<void> Gc(const Deps& deps, const Request& request) {
  RAIL_TRY(engine::CollectGarbage(deps, request, engine::kFrrProvider));
  return {};
}

Outcome<void> ReadyForAdd(const Deps& deps, const Request& request) {
  RAIL_ASSIGN(const Config config, ParseConfig(request));
  auto context = VerbContext::Open(deps, VerbContext::Use::kQuiet);
  const auto not_ready = [&](const Error& error) {
    return tl::make_unexpected(engine::NotReady("frr-provider cannot announce addresses", error,
                                                context ? context->get() : nullptr, request));
  };
  if (!context) return not_ready(context.error());
  auto bgp = (*context)->connections.Bgp();
  if (!bgp) return not_ready(bgp.error());
  auto sessions = (*bgp)->Sessions((*context)->connections.CallDeadline());
  if (!sessions) return not_ready(sessions.error());
  // In mode `vrf` a tenant's session comes with its first pod.
  const bool waits = config.wait.value_or(kWait).count() != 0 && config.on_timeout == OnTimeout::kFail &&
                     (*context)->config.tenancy.mode != config::TenancyMode::kVrf;
  if (!config.rail.empty()) {
    const auto rail = engine::RailOf((*context)->config, config.rail);
    if (!rail) return not_ready(rail.error());
    const auto its = std::ranges::find(*sessions, (*rail)->bridge, &frr::Session::interface);
    if (waits && (its == sessions->end() || !its->established()))
      return not_ready(
          {Code::kTransient, "rail " + config.rail + " has no Established session with its leaf", 0});
  }
  // Without "rail" STATUS does not say which rail it is about. Only if no session with a leaf is up is it certain that no ADD can
  // succeed.
  if (waits && std::ranges::none_of(*sessions, &frr::Session::established)) {
    return not_ready({Code::kTransient, "bgpd has no Established session with a leaf", 0});
  }
  return {};
}

}  // namespace

cni::Plugin MakePlugin(const engine::Deps& deps) {
  return {.name = "frr-provider",
          .about = "RailCNI frr-provider: announces a pod's addresses over BGP",
          .check_config = [](const Request& request) -> Outcome<void> {
            RAIL_TRY(ParseConfig(request));
            return {};
          },
          .add = [deps](const Request& request) { return Add(deps, request); },
          .del = [deps](const Request& request) { return Del(deps, request); },
          .check = [deps](const Request& request) { return Check(deps, request); },
          .gc = [deps](const Request& request) { return Gc(deps, request); },
          .status = [deps](const Request& request) { return ReadyForAdd(deps, request); }};
}

}  // namespace rail::frr_provider
