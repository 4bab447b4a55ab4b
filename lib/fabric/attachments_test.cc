#include "lib/fabric/attachments.h"

#include <gmock/gmock.h>

#include <functional>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNoon;
using ::testing::SizeIs;
using testing::SmallFleet;

class FleetAttachments : public ::testing::Test {
 protected:
  FleetAttachments() { small_.Tell(kNoon); }

  v1::ListFleetAttachmentsResponse Page() {
    const Grid grid(small_.fleet());
    auto page = ListAttachments(small_.fleet(), grid, request_);
    EXPECT_TRUE(page) << page.error().message;
    return page ? *page : v1::ListFleetAttachmentsResponse();
  }
  // All pages; `between` is done after each.
  std::vector<std::string> Walk(const std::function<void()>& between = [] {}) {
    std::vector<std::string> names;
    for (;;) {
      const auto page = Page();
      for (const v1::FleetAttachment& each : page.attachments())
        names.push_back(each.attachment().pod().name() + "@" + each.node() + "/" + each.attachment().rail());
      if (page.next_page_token().empty()) return names;
      request_.set_page_token(page.next_page_token());
      between();
    }
  }

  SmallFleet small_{{.units = 2, .nodes = 3, .rails = 2, .pods = 2, .tenants = 2}};
  v1::ListFleetAttachmentsRequest request_;
};

TEST_F(FleetAttachments, AreInTheOrderOfTheirPods) {
  const auto all = Walk();
  ASSERT_THAT(all, SizeIs(24));
  EXPECT_THAT(std::vector(all.begin(), all.begin() + 3),
              ElementsAre("train-0@n1/rail0", "train-0@n1/rail1", "train-2@n2/rail0"));
  EXPECT_EQ(all[10], "train-10@n6/rail0");  // behind train-8: numbers are numbers
}

TEST_F(FleetAttachments, AWalkInPagesIsTheSame) {
  const auto all = Walk();
  for (const uint32_t size : {1U, 5U, 23U, 24U, 25U}) {
    request_.clear_page_token();
    request_.set_page_size(size);
    EXPECT_EQ(Walk(), all) << size;
  }
}

TEST_F(FleetAttachments, OneThatIsThereDuringTheWholeWalkIsReturnedOnce) {
  const auto all = Walk();
  request_.clear_page_token();
  request_.set_page_size(4);
  const auto walked = Walk([this] { small_.fleet().Remove("n2"); });  // also whom the token names
  std::vector<std::string> left;
  for (const std::string& each : all) {
    if (!each.ends_with("n2/rail0") && !each.ends_with("n2/rail1")) left.push_back(each);
  }
  std::vector<std::string> seen;
  for (const std::string& each : walked) {
    if (!each.ends_with("n2/rail0") && !each.ends_with("n2/rail1")) seen.push_back(each);
  }
  EXPECT_EQ(seen, left);
}

TEST_F(FleetAttachments, EachWordOfTheSelectorSelects) {
  const auto with = [this](auto set) {
    request_.Clear();
    set(*request_.mutable_selector());
    return Walk().size();
  };
  EXPECT_EQ(with([](auto& s) { s.set_namespace_("team-1"); }), 12U);
  EXPECT_EQ(with([](auto& s) { s.set_namespace_("team-7"); }), 0U);
  EXPECT_EQ(with([](auto& s) { s.set_pod("train-3"); }), 2U);
  EXPECT_EQ(with([](auto& s) { s.set_node("n4"); }), 4U);
  EXPECT_EQ(with([](auto& s) { s.set_rail("rail1"); }), 12U);
  EXPECT_EQ(with([](auto& s) { s.set_tenant("team-0"); }), 12U);
  EXPECT_EQ(with([](auto& s) { s.set_tenant("0000000000000000000000000002"); }), 12U);
  EXPECT_EQ(with([](auto& s) { s.set_address("10.1.0.5"); }), 1U);
  EXPECT_EQ(with([](auto& s) {
              s.set_namespace_("team-0");
              s.set_node("n4");
              s.set_rail("rail0");
            }),
            1U);
}

TEST_F(FleetAttachments, HaveTheirPlaceAndAge) {
  small_.fleet().SetAway("n4", kNoon, "timed out");
  request_.mutable_selector()->set_node("n4");
  const auto page = Page();
  ASSERT_EQ(page.attachments_size(), 4);
  EXPECT_EQ(page.attachments(0).leaf(), "leaf2");
  EXPECT_EQ(page.attachments(0).unit(), "su-2");
  EXPECT_EQ(page.attachments(0).away_since().seconds(), kNoon / 1000);
}

TEST_F(FleetAttachments, ATokenOfNobodyIsRefused) {
  const Grid grid(small_.fleet());
  for (const char* token : {"x", "a\nb\nc\n", "a\nb\nc\n1x", "a\nb\n1"}) {
    request_.set_page_token(token);
    const auto page = ListAttachments(small_.fleet(), grid, request_);
    ASSERT_FALSE(page) << token;
    EXPECT_EQ(page.error().code, Code::kInvalid);
    EXPECT_THAT(page.error().message, HasSubstr("page_token"));
  }
}

}  // namespace
}  // namespace rail::fabric
