#include "cmd/raild/api/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace rail::raild {
namespace {

using engine::NodeView;
using testing::ElementsAre;
using Event = v1::WatchAttachmentsResponse;

NodeView ViewWith(const std::vector<int64_t>& ids) {
  NodeView view;
  for (const int64_t id : ids) {
    auto& a = view.attachments.emplace_back().attachment;
    a.id = id;
    a.pod_namespace = id % 2 == 0 ? "even" : "odd";
    a.rail = id < 10 ? "rail0" : "rail1";
  }
  return view;
}

std::vector<std::string> Texts(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  for (const Event& e : events) {
    texts.push_back(Event::Type_Name(e.type()) +
                    (e.has_attachment() ? " " + std::to_string(e.attachment().id()) : ""));
  }
  return texts;
}

engine::RemoteView RemoteAt(IpAddress address, uint64_t tenant, std::optional<uint32_t> rail_index) {
  engine::RemoteView view;
  view.remote.address = address;
  view.remote.tenant.low = tenant;
  view.remote.rail_index = rail_index;
  view.remote.interface = "br-rail0";
  return view;
}

engine::RemoteView RemoteAt(std::string_view address, uint64_t tenant = 1,
                            std::optional<uint32_t> rail_index = 0) {
  return RemoteAt(*IpAddress::Parse(address), tenant, rail_index);
}

NodeView ViewWithRemotes(uint32_t count) {
  NodeView view;
  std::vector<engine::RemoteView>& remotes = view.remotes.own();
  for (uint32_t i = count; i-- > 0;) {  // not in order: a view promises none
    const std::string bytes = {10, static_cast<char>(i >> 16), static_cast<char>(i >> 8),
                               static_cast<char>(i)};
    remotes.push_back(RemoteAt(*IpAddress::FromBytes(bytes), i % 7 + 1, 0));
  }
  return view;
}

TEST(ListAttachments, FiltersByNamespaceAndRail) {
  const NodeView view = ViewWith({12, 1, 2, 11});
  const auto ids = [&](const std::string& pod_namespace, const std::string& rail) {
    v1::AttachmentFilter filter;
    filter.set_namespace_(pod_namespace);
    filter.set_rail(rail);
    std::vector<int64_t> found;
    const v1::ListAttachmentsResponse response = ListAttachments(view, filter);
    for (const auto& a : response.attachments()) found.push_back(a.id());
    return found;
  };
  EXPECT_THAT(ids("", ""), ElementsAre(1, 2, 11, 12));
  EXPECT_THAT(ids("odd", ""), ElementsAre(1, 11));
  EXPECT_THAT(ids("", "rail1"), ElementsAre(11, 12));
  EXPECT_THAT(ids("even", "rail1"), ElementsAre(12));
  EXPECT_THAT(ids("eve", ""), ElementsAre());
}

TEST(ListAttachments, SaysWhoElseAnnouncesAnAddress) {
  NodeView view = ViewWith({1});
  const IpAddress address = *IpAddress::Parse("10.0.3.1");
  view.attachments[0].elsewhere = {{.address = address, .by = "AS 7 for tenant a"}};
  auto message = ListAttachments(view, {}).attachments(0);
  EXPECT_FALSE(message.contested()) << "its own tenant";
  ASSERT_EQ(message.announced_elsewhere_size(), 1);
  EXPECT_THAT(message.announced_elsewhere(0),
              testing::HasSubstr("10.0.3.1 is also announced by AS 7 for tenant a"));
  view.attachments[0].elsewhere[0].other_tenant = true;
  EXPECT_TRUE(ListAttachments(view, {}).attachments(0).contested());
}

TEST(ListAttachments, SaysWhatIsWrongBeforeThePhase) {
  engine::AttachmentView view;
  view.attachment.phase = state::Phase::kReady;
  EXPECT_EQ(ToMessage(view).state(), v1::Attachment::STATE_READY);
  view.device_lost = true;
  EXPECT_EQ(ToMessage(view).state(), v1::Attachment::NO_DEVICE);
  view.attachment.phase = state::Phase::kDeleting;
  view.device_lost = false;
  EXPECT_EQ(ToMessage(view).state(), v1::Attachment::STATE_DELETING);
  view.pending = "withdraw 10.0.3.7: bgpd is down";
  EXPECT_EQ(ToMessage(view).state(), v1::Attachment::PENDING);
}

TEST(ListAttachments, SaysWhetherTheFabricLeadsThere) {
  engine::AttachmentView view;
  EXPECT_EQ(ToMessage(view).announcement(), v1::Attachment::ANNOUNCEMENT_UNSPECIFIED);
  view.attachment.announced = true;
  EXPECT_EQ(ToMessage(view).announcement(), v1::Attachment::ANNOUNCED);
  view.elsewhere = {{.address = *IpAddress::Parse("10.0.3.1"), .by = "AS 7"}};
  EXPECT_EQ(ToMessage(view).announcement(), v1::Attachment::DUPLICATE);
  view.elsewhere[0].other_tenant = true;
  EXPECT_EQ(ToMessage(view).announcement(), v1::Attachment::CONTESTED);
  view.withdrawn = "the uplink up0 of its rail has no carrier";
  EXPECT_EQ(ToMessage(view).announcement(), v1::Attachment::WITHDRAWN);
}

TEST(ListAttachments, CallsRulesThatNobodyCanLookForUnknown) {
  engine::AttachmentView view;
  EXPECT_EQ(ToMessage(view).rules(), v1::Attachment::RULES_MISSING);
  view.rules_in_place = true;
  EXPECT_EQ(ToMessage(view).rules(), v1::Attachment::RULES_OK);
  view.rules_unknown_since_ms = 1;
  EXPECT_EQ(ToMessage(view).rules(), v1::Attachment::RULES_UNKNOWN);
}

TEST(ListRails, NamesTheFirstThingThatIsMissing) {
  NodeView view;
  engine::RailView& rail = view.rails.emplace_back();
  const auto state = [&] { return v1::Rail::State_Name(ListRails(view).rails(0).state()); };
  rail.seen.set_foreign_flows(1);
  EXPECT_EQ(state(), "FOREIGN_FLOWS");
  rail.seen.set_foreign_flows(0);
  EXPECT_EQ(state(), "NO_BRIDGE");
  rail.seen.set_bridge_present(true);
  EXPECT_EQ(state(), "NO_CARRIER");
  rail.seen.set_carrier(true);
  EXPECT_EQ(state(), "NO_SESSION");
  rail.seen.set_bgp_state("Established");
  EXPECT_EQ(state(), "NO_LEAF");
  rail.seen.set_leaf_mac("02:00:00:00:00:01");
  rail.seen.set_unrecorded_pods(1);
  EXPECT_EQ(state(), "RECORD_LOST");
  rail.seen.set_unrecorded_pods(0);
  rail.seen.set_unseen("ovsdb-server does not answer");
  EXPECT_EQ(state(), "UNSEEN");
  rail.seen.set_unseen("");
  rail.seen.set_rules_wanted(9);
  EXPECT_EQ(state(), "RULES_DIFFER");
  rail.seen.set_rules_installed(9);
  EXPECT_EQ(state(), "READY");
}

TEST(ListRails, NeedsNoSessionOfARailWithoutTenantsInModeVrf) {
  NodeView view;
  engine::RailView& rail = view.rails.emplace_back();
  rail.seen.set_bridge_present(true);
  rail.seen.set_carrier(true);
  EXPECT_EQ(ListRails(view).rails(0).state(), v1::Rail::NO_SESSION);
  rail.seen.set_by_vlan(true);
  EXPECT_EQ(ListRails(view).rails(0).state(), v1::Rail::READY);
  rail.seen.add_vlans()->set_vlan(101);
  EXPECT_EQ(ListRails(view).rails(0).state(), v1::Rail::NO_SESSION);
}

TEST(Node, HasTheFrontEnd) {
  NodeView view;
  view.frontend.add_frontend_links()->set_name("mgmt1");
  view.frontend.set_frontend_bfd_problem("bfdd does not answer");
  const v1::GetNodeResponse response = GetNode(view, {});
  EXPECT_EQ(response.node().frontend_links(0).name(), "mgmt1");
  EXPECT_EQ(response.node().frontend_bfd_problem(), "bfdd does not answer");
}

TEST(ListAttachments, StaysReadableWhateverBytesTheRecordHolds) {
  NodeView view = ViewWith({1});
  view.attachments[0].attachment.pod_name = "pod\xFF";
  view.attachments[0].pending = "bgpd said \xE6\x97";
  std::string bytes;
  ASSERT_TRUE(ListAttachments(view, {}).SerializeToString(&bytes));
  v1::ListAttachmentsResponse read;
  EXPECT_TRUE(read.ParseFromString(bytes));
}

TEST(Changes, TellWhatIsThereThenSyncedThenDifferences) {
  Changes changes{v1::AttachmentFilter()};
  NodeView view = ViewWith({2, 1});
  EXPECT_THAT(Texts(changes.Next(view)), ElementsAre("ADDED 1", "ADDED 2", "SYNCED"));
  EXPECT_THAT(Texts(changes.Next(view)), ElementsAre());

  view = ViewWith({2, 3});
  view.attachments[0].rules_in_place = true;
  EXPECT_THAT(Texts(changes.Next(view)), ElementsAre("DELETED 1", "MODIFIED 2", "ADDED 3"));
  EXPECT_THAT(Texts(changes.Next(ViewWith({}))), ElementsAre("DELETED 2", "DELETED 3"));
}

TEST(Changes, TellADeletedAttachmentAsItWasLastTold) {
  Changes changes{v1::AttachmentFilter()};
  NodeView view = ViewWith({1});
  view.attachments[0].attachment.device = "vf0";
  (void)changes.Next(view);
  const auto events = changes.Next(ViewWith({}));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].attachment().device(), "vf0");
}

TEST(Changes, KeepToTheFilter) {
  v1::AttachmentFilter filter;
  filter.set_namespace_("odd");
  Changes changes(filter);
  EXPECT_THAT(Texts(changes.Next(ViewWith({1, 2}))), ElementsAre("ADDED 1", "SYNCED"));
  EXPECT_THAT(Texts(changes.Next(ViewWith({1, 4}))), ElementsAre());
}

TEST(Changes, SyncAnEmptyNodeToo) {
  Changes changes{v1::AttachmentFilter()};
  EXPECT_THAT(Texts(changes.Next({})), ElementsAre("SYNCED"));
}

TEST(ListRails, CountsRulesOfOthersBesideOurs) {
  NodeView view;
  engine::RailView& rail = view.rails.emplace_back();
  rail.seen.set_rules_wanted(9);
  rail.seen.set_rules_installed(8);
  rail.seen.set_foreign_flows(2);
  rail.seen.set_lossless_known(true);
  rail.seen.add_lossless_problems("p0 does not pause");
  const auto rails = ListRails(view);
  ASSERT_EQ(rails.rails_size(), 1);
  EXPECT_EQ(rails.rails(0).rules_wanted(), 9U);
  EXPECT_EQ(rails.rails(0).rules_installed(), 8U);
  EXPECT_EQ(rails.rails(0).foreign_flows(), 2U);
  EXPECT_TRUE(rails.rails(0).lossless_known());
  EXPECT_FALSE(rails.rails(0).lossless_ok());
  EXPECT_THAT(rails.rails(0).lossless_problems(), ElementsAre("p0 does not pause"));
}

TEST(ListRails, SaysWhatTenantsMaySend) {
  NodeView view;
  engine::RailView& rail = view.rails.emplace_back();
  EXPECT_FALSE(ListRails(view).rails(0).rates_known());
  rail.rates.emplace().tenants = {{.tenant = "red",
                                   .tenant_id = {.high = 0, .low = 5},
                                   .nic = "pci/a",
                                   .share = 3,
                                   .max_mbit = 100,
                                   .pods = 2}};
  rail.rates->problems = {{.id = "rates-refused", .what = "its NIC refuses", .why = "", .fix = ""}};
  const v1::Rail shown = ListRails(view).rails(0);
  EXPECT_TRUE(shown.rates_known());
  ASSERT_EQ(shown.tenant_rates_size(), 1);
  EXPECT_EQ(shown.tenant_rates(0).tenant().name(), "red");
  EXPECT_EQ(shown.tenant_rates(0).nic(), "pci/a");
  EXPECT_EQ(shown.tenant_rates(0).share(), 3U);
  EXPECT_EQ(shown.tenant_rates(0).max_mbit(), 100U);
  EXPECT_EQ(shown.tenant_rates(0).attachments(), 2U);
  EXPECT_THAT(shown.rates_problems(), ElementsAre("its NIC refuses"));
}

TEST(ListAttachments, SaysWhatEachMaySend) {
  NodeView view = ViewWith({1, 2});
  view.attachments[1].rate = {.tenant_share = 3, .tenant_max_mbit = 100, .min_mbit = 1, .max_mbit = 50};
  const auto shown = ListAttachments(view, {});
  EXPECT_FALSE(shown.attachments(0).has_rate());
  EXPECT_EQ(shown.attachments(1).rate().tenant_share(), 3U);
  EXPECT_EQ(shown.attachments(1).rate().tenant_max_mbit(), 100U);
  EXPECT_EQ(shown.attachments(1).rate().min_mbit(), 1U);
  EXPECT_EQ(shown.attachments(1).rate().max_mbit(), 50U);
}

TEST(ListRemotes, PagesThroughAllOfThemOnceAndInOrder) {
  NodeView view = ViewWithRemotes(2500);
  view.remotes.own().push_back(RemoteAt("2001:db8::1", 1));
  view.remotes.own().push_back(RemoteAt("2001:db8::1", 2));
  v1::ListRemotesRequest request;
  request.set_page_size(400);
  std::vector<std::string> seen;
  int pages = 0;
  do {
    const auto page = ListRemotes(view, request);
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->total(), 2502U);
    for (const auto& r : page->remotes()) seen.push_back(r.address() + " " + r.tenant().id());
    request.set_page_token(page->next_page_token());
    ++pages;
  } while (!request.page_token().empty() && pages < 100);
  EXPECT_EQ(pages, 7);
  ASSERT_EQ(seen.size(), 2502U);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 2502U);
  EXPECT_EQ(seen.front(), "10.0.0.0 0000000000000000000000000001");
  EXPECT_EQ(seen[300], "10.0.1.44 0000000000000000000000000007");
  EXPECT_EQ(seen.back(), "2001:db8::1 0000000000000000000000000002");
}

TEST(ListRemotes, SaysWhichAreContested) {
  NodeView view = ViewWithRemotes(2);
  view.remotes.own().front().contested = true;  // the last by address
  const auto page = ListRemotes(view, {});
  ASSERT_EQ(page->remotes_size(), 2);
  EXPECT_FALSE(page->remotes(0).contested());
  EXPECT_TRUE(page->remotes(1).contested());
}

TEST(ListRemotes, NeitherRepeatsNorHidesWhenOthersComeAndGoBetweenPages) {
  NodeView view = ViewWithRemotes(6);
  v1::ListRemotesRequest request;
  request.set_page_size(3);
  const auto first = ListRemotes(view, request);
  ASSERT_EQ(first->remotes(2).address(), "10.0.0.2");
  std::erase_if(view.remotes.own(), [](const auto& r) { return r.remote.address.ToString() <= "10.0.0.2"; });
  view.remotes.own().push_back(RemoteAt("10.0.0.1"));
  request.set_page_token(first->next_page_token());
  const auto second = ListRemotes(view, request);
  ASSERT_EQ(second->remotes_size(), 3);
  EXPECT_EQ(second->remotes(0).address(), "10.0.0.3");
  EXPECT_EQ(second->next_page_token(), "");
}

TEST(ListRemotes, HasABoundedPage) {
  const NodeView view = ViewWithRemotes(kLargestPage + 5);
  v1::ListRemotesRequest request;
  EXPECT_EQ(ListRemotes(view, request)->remotes_size(), static_cast<int>(kDefaultPage));
  request.set_page_size(4000000000);
  EXPECT_EQ(ListRemotes(view, request)->remotes_size(), static_cast<int>(kLargestPage));
}

TEST(ListRemotes, RefusesATokenThatIsNotItsOwn) {
  v1::ListRemotesRequest request;
  const std::string id = tenancy::TenantId{0, 1}.ToString();
  for (const std::string& token : std::vector<std::string>{
           "x", ",,,", "10.0.0.1", "10.0.0.1," + id, "10.0.0.1," + id + ",-", "10.0.0.1,x,-,",
           "10.0.0.1," + id + ",,b", "10.0.0.1,-1,-,", "10.0.0.1," + id + ",9999999999,"}) {
    request.set_page_token(token);
    const auto page = ListRemotes(ViewWithRemotes(1), request);
    ASSERT_FALSE(page) << token;
    EXPECT_EQ(page.error().code, Code::kInvalid);
  }
  request.set_page_token("10.0.0.1," + id + ",-,a,b");  // a session's name may hold anything
  EXPECT_TRUE(ListRemotes(ViewWithRemotes(1), request));
}

TEST(ListRails, SaysWhyASessionIsDownAndWhatTheLeafStrips) {
  NodeView view;
  engine::RailView& rail = view.rails.emplace_back();
  rail.seen.set_bgp_state("Active");
  rail.seen.set_bgp_problem("the leaf refuses");
  rail.seen.set_stripped(3);
  const v1::Rail message = ListRails(view).rails(0);
  EXPECT_EQ(message.bgp_problem(), "the leaf refuses");
  EXPECT_EQ(message.stripped(), 3U);
}

TEST(Lists, SayTheVlansOfModeVrf) {
  NodeView view = ViewWith({1});
  view.attachments[0].vlan = 101;
  engine::RailView& rail = view.rails.emplace_back();
  rail.seen.set_by_vlan(true);
  rail.seen.add_vlans()->set_vlan(101);
  rail.seen.mutable_vlans(0)->set_bgp_state("Established");
  view.remotes.own().push_back(RemoteAt("10.0.0.1", 1, 3));
  view.remotes.own()[0].vlan = 102;
  EXPECT_EQ(ListAttachments(view, {}).attachments(0).vlan(), 101U);
  EXPECT_EQ(ListRemotes(view, {})->remotes(0).vlan(), 102U);
  const v1::Rail message = ListRails(view).rails(0);
  EXPECT_TRUE(message.by_vlan());
  ASSERT_EQ(message.vlans_size(), 1);
  EXPECT_EQ(message.vlans(0).vlan(), 101U);
  EXPECT_TRUE(message.vlans(0).connected());
}

TEST(ListRemotes, NamesTheRailWhenThisNodeHasIt) {
  NodeView view;
  view.rails.emplace_back().rail.name = "rail3";
  view.rails[0].rail.index = 3;
  view.remotes.own().push_back(RemoteAt("10.0.0.1", 1, 3));
  view.remotes.own().push_back(RemoteAt("10.0.0.2", 1, 4));
  view.remotes.own().push_back(RemoteAt("10.0.0.3", 1, std::nullopt));
  const auto page = ListRemotes(view, {});
  EXPECT_EQ(page->remotes(0).rail(), "rail3");
  EXPECT_EQ(page->remotes(1).rail(), "");
  EXPECT_EQ(page->remotes(1).rail_index(), 4U);
  EXPECT_FALSE(page->remotes(2).has_rail_index());
}

TEST(Node, SaysWhatRaildIsNotReadyForAndThatItHangs) {
  const auto parts = [](const Health& health) {
    std::vector<std::string> texts;
    const v1::GetNodeResponse response = GetNode({}, health);
    for (const v1::HealthPart& part : response.node().health())
      texts.push_back(part.part() + ": " + part.problem());
    return texts;
  };
  EXPECT_THAT(parts({.started = true, .waits_for = "", .hung = ""}), ElementsAre());
  EXPECT_THAT(parts({.started = true, .waits_for = "rail0", .hung = "bgpd"}),
              ElementsAre("raild: bgpd", "readiness: rail0"));
  EXPECT_THAT(parts({.started = false, .waits_for = "rail0", .hung = ""}), ElementsAre());
}

TEST(Lists, SaySinceWhenRaildCannotLookAndOtherwiseNothing) {
  NodeView view = ViewWith({1, 2});
  view.attachments[0].rules_unknown_since_ms = 2500;
  view.attachments[0].withdrawn = "no carrier";
  view.rails.resize(2);
  view.rails[0].seen.set_unseen("ovsdb-server does not answer");
  SetTime(*view.rails[0].seen.mutable_unseen_since(), 2500);
  const v1::Attachment unknown = ToMessage(view.attachments[0]);
  EXPECT_EQ(unknown.rules_unknown_since().seconds(), 2);
  EXPECT_EQ(unknown.withdrawn(), "no carrier");
  EXPECT_FALSE(ToMessage(view.attachments[1]).has_rules_unknown_since());
  const v1::ListRailsResponse rails = ListRails(view);
  EXPECT_EQ(rails.rails(0).unseen(), "ovsdb-server does not answer");
  EXPECT_EQ(rails.rails(0).unseen_since().nanos(), 500'000'000);
  EXPECT_FALSE(rails.rails(1).has_unseen_since());
}

}  // namespace
}  // namespace rail::raild
