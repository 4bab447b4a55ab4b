#include "cmd/railctl/accept/announced.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/railctl/accept/forge.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/watch.h"
#include "lib/base/text.h"
#include "lib/config/node_config.h"

namespace rail::accept {
namespace {

constexpr const char* kCheck = "isolation.announced";
constexpr uint32_t kRounds = 5;  // how often each segment is sent
constexpr Milliseconds kPatience{5000};
constexpr Milliseconds kQuiet{100};  // nothing has come for so long: nothing is under way
constexpr uint32_t kPage = 10'000;

// A connection that the pod asks for, by frames to each of `macs`.
struct Call {
  std::string whom;
  IpAddress source;
  IpAddress target;
  std::vector<MacAddress> macs;

  std::string Mark() const { return AnswerMark(source, target, kBgpPort); }
  std::vector<std::string> Frames(const Port& me) const {
    std::vector<std::string> frames;
    const Packet packet = Ip(source, target, kTcp, TcpSyn(source, target, kBgpPort));
    for (const MacAddress& mac : macs) frames.push_back(Ethernet({me.mac, mac, {}}, packet));
    return frames;
  }
};

// To the own tenant's pod, in both families as far as both have them.
std::vector<Call> Allowed(const Port& me, const Port& mate) {
  std::vector<Call> calls;
  for (const auto& [mine, theirs] : {std::pair(me.ipv4, mate.ipv4), std::pair(me.ipv6, mate.ipv6)}) {
    if (!mine.is_unspecified() && !theirs.is_unspecified())
      calls.push_back({theirs.ToString(), mine, theirs, {me.gateway}});
  }
  return calls;
}

// To all addresses of this rail that a speaker of BGP may have and that are known. A link-local one is asked from both addresses that a pod has.
std::vector<Call> Forbidden(const Port& me, bool v6) {
  std::vector<Call> calls;
  const auto named = [](const IpAddress& address, const char* whose) {
    return fmt::format("{} ({})", address.ToString(), whose);
  };
  const IpAddress gateway = config::DefaultGateway(v6);
  calls.push_back({named(gateway, "the gateway"), v6 ? me.ipv6 : me.ipv4, gateway, {me.gateway}});
  const auto rail = std::ranges::find(me.node->rails, me.rail, &v1::Rail::name);
  if (rail == me.node->rails.end()) return calls;
  if (!v6) {
    const auto router = IpAddress::Parse(rail->leaf().router_id());
    if (router) calls.push_back({named(*router, "the leaf's router id"), me.ipv4, *router, {me.gateway}});
    return calls;
  }
  for (const auto& [text, whose] :
       {std::pair(rail->bridge_mac(), "the node"), {rail->leaf_mac(), "the leaf"}}) {
    const auto mac = MacAddress::Parse(text);
    if (!mac) continue;
    const IpAddress target = LinkLocal(*mac);
    for (const IpAddress& source : {me.ipv6, LinkLocal(me.mac)})
      calls.push_back({named(target, whose), source, target, {me.gateway, *mac}});
  }
  return calls;
}

// What a pod was answered, and by whom it was to be.
struct Heard {
  std::vector<Answers> answers;
  std::string control;
};

Result<Heard> Listen(const Port& me, const Port& mate) {
  const std::vector<Call> allowed = Allowed(me, mate);
  if (allowed.empty())
    return Fail(Code::kUnsupported,
                me.pod() + " and " + mate.pod() + " have no addresses of one family on " + me.rail);
  std::vector<Call> calls = allowed;
  for (const Call& each : allowed)
    std::ranges::move(Forbidden(me, each.source.is_v6()), std::back_inserter(calls));
  std::vector<std::string> marks;
  std::vector<std::string> controls;
  std::vector<std::string> frames;
  for (size_t i = 0; i < calls.size(); ++i) {
    marks.push_back(calls[i].Mark());
    std::ranges::move(calls[i].Frames(me), std::back_inserter(i < allowed.size() ? controls : frames));
  }
  RAIL_ASSIGN(const auto eyes, Watch::Open(*me.agent, {me.ifname}, marks));
  const auto control = [&]() -> Status {
    const auto before = eyes->Counts();
    RAIL_TRY(SendRounds(me, controls, kRounds));
    for (size_t i = 0; i < allowed.size(); ++i) {
      if (!eyes->WaitFor(i, before[i].frames() + 1, kPatience))
        return Fail(Code::kTransient, mate.pod() + " of its own tenant does not answer a TCP SYN to " +
                                          allowed[i].whom + ": whether anybody else does cannot be seen");
    }
    return {};
  };
  RAIL_TRY(control());
  RAIL_TRY(SendRounds(me, frames, kRounds));
  RAIL_TRY(control());
  eyes->Settle(kQuiet);
  Heard heard;
  const auto counts = eyes->Counts();
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto& count = counts[i];
    if (i >= allowed.size())
      heard.answers.push_back({calls[i].whom, count.frames(), IsRefusal(count.newest())});
    else
      Append(heard.control, ", ",
             fmt::format("{} answers of {} ({}) to {} of the same", count.frames(), mate.pod(), calls[i].whom,
                         2 * kRounds));
  }
  return heard;
}

// Of the addresses of all that take part, which raild of `node` has from BGP.
Status AddViews(const Node& node, const std::string& tenant, const std::set<std::string>& addresses,
                Views& views) {
  v1::ListRemotesRequest request;
  request.set_tenant(tenant);
  request.set_page_size(kPage);
  do {
    RAIL_ASSIGN(const auto page, Ask(*node.raild, &v1::Node::Stub::ListRemotes, request, node.Whom()));
    for (const v1::Remote& remote : page.remotes()) {
      if (!addresses.contains(remote.address())) continue;
      const auto& path = remote.as_path();
      Owners& owners = views[{node.name, remote.address()}];
      owners.contested = owners.contested || remote.contested();
      owners.who.insert(tenant + (path.empty() ? "" : fmt::format(" from AS {}", *path.rbegin())));
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return {};
}

// Of its own pods, whose addresses are no remotes.
Status AddOwn(const Node& node, const std::set<std::string>& addresses, Views& views) {
  RAIL_ASSIGN(const auto all, Ask(*node.raild, &v1::Node::Stub::ListAttachments, {}, node.Whom()));
  for (const v1::Attachment& attachment : all.attachments()) {
    const bool takes_part = std::ranges::any_of(
        attachment.addresses(), [&](const std::string& address) { return addresses.contains(address); });
    if (!attachment.contested() || !takes_part) continue;
    const v1::Pod& pod = attachment.pod();
    views[{node.name, "an address of " + pod.namespace_() + "/" + pod.name()}].contested = true;
  }
  return {};
}

Result<Views> Look(const Stage& stage) {
  std::set<std::string> addresses;
  std::set<std::string> tenants;
  for (const Port& port : stage.ports()) {
    tenants.insert(port.tenant);
    for (const IpAddress& address : {port.ipv4, port.ipv6}) addresses.insert(address.ToString());
  }
  Views views;
  for (const auto& node : stage.nodes()) {
    RAIL_TRY(AddOwn(*node, addresses, views));
    for (const std::string& tenant : tenants) RAIL_TRY(AddViews(*node, tenant, addresses, views));
  }
  return views;
}

}  // namespace

std::string Disputes(const Views& before, const Views& after) {
  std::map<std::string, std::set<std::string>> known;
  for (const auto& [place, owners] : before) known[place.second].insert(owners.who.begin(), owners.who.end());
  std::string disputes;
  for (const auto& [place, owners] : after) {
    const auto& [node, address] = place;
    for (const std::string& who : owners.who) {
      if (!known[address].contains(who))
        Append(disputes, "; ",
               fmt::format("{} is now announced by {}, says raild of {}", address, who, node));
    }
    if (owners.contested)
      Append(disputes, "; ", fmt::format("{} is announced by two tenants, says raild of {}", address, node));
  }
  return disputes;
}

Attempt JudgeAnnounced(const std::vector<Answers>& answers, const std::string& disputes, size_t nodes) {
  std::string seen;
  std::string asked;
  for (const Answers& each : answers) {
    if (asked.find(each.whom) == std::string::npos) Append(asked, ", ", each.whom);
    if (each.segments > 0)
      Append(seen, "; ",
             fmt::format("{} answers with {} {}", each.whom, each.segments,
                         each.refused ? "refusals (RST): its kernel hears the pod"
                                      : "SYN-ACK: a session with it can begin"));
  }
  if (!disputes.empty()) Append(seen, "; ", disputes);
  Attempt attempt;
  attempt.set_verdict(seen.empty() ? kPass : kFail);
  attempt.set_did(fmt::format("{} times a TCP SYN to port {} of {}", kRounds, kBgpPort, asked));
  attempt.set_seen(!seen.empty()
                       ? seen
                       : fmt::format("no answer; no address of a pod has another owner than before in "
                                     "the view of {} nodes",
                                     nodes));
  return attempt;
}

void CheckAnnounced(const Stage& stage, Book& book) {
  if (!book.Wants(kCheck)) return;
  const auto before = Look(stage);
  std::vector<std::pair<const Port*, Result<Heard>>> all;
  for (const Port& me : stage.ports()) {
    const Port* const mate = Mate(stage, me);
    if (mate == nullptr || Strangers(stage, me).empty()) continue;
    book.Say(fmt::format("{}, {} on {}", kCheck, me.pod(), me.rail));
    all.emplace_back(&me, Listen(me, *mate));
  }
  const auto after = Look(stage);
  std::vector<Book::Found> found;
  for (const auto& [me, heard] : all) {
    Attempt attempt;
    if (!heard || !before || !after) {
      attempt = NotMeasured((!heard ? heard.error() : !before ? before.error() : after.error()).message);
    } else {
      attempt = JudgeAnnounced(heard->answers, Disputes(*before, *after), stage.nodes().size());
      attempt.set_control(heard->control);
    }
    attempt.set_rail(me->rail);
    attempt.set_from(me->pod());
    found.push_back({kCheck, std::move(attempt)});
  }
  book.AddTogether(std::move(found));
}

}  // namespace rail::accept
