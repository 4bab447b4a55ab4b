#include <gmock/gmock.h>

#include "lib/config/testing/section.h"
#include "lib/config/values.h"

namespace rail::config {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Problems(const std::string& section, std::optional<Rates>& rates) {
  NodeConfig node;
  auto problems = testing::ProblemsWith("rates", json::parse(section), node);
  rates = node.rates;
  return problems;
}

TEST(ParseRates, GivesEachTenantItsOwnOrTheUsual) {
  std::optional<Rates> rates;
  EXPECT_THAT(Problems(R"({"default": {"max": "200gbit"},
                           "tenants": {"team-a": {"share": 3, "max": "400gbit"}, "team-b": {"share": 2}}})",
                       rates),
              IsEmpty());
  EXPECT_EQ(rates->Of("team-a"), (TenantRate{3, 400'000}));
  EXPECT_EQ(rates->Of("team-b"), (TenantRate{2, 200'000})) << "what it does not say is the usual";
  EXPECT_EQ(rates->Of("team-c"), (TenantRate{1, 200'000}));
  EXPECT_THAT(Problems("{}", rates), IsEmpty());
  EXPECT_EQ(rates->Of("any"), TenantRate());
}

TEST(ParseRates, NamesTheKeyThatCannotBe) {
  std::optional<Rates> rates;
  for (const std::string wrong :
       {"", "200", "200Gbit", "0gbit", "-1mbit", "1.5gbit", " 1gbit", "10001gbit", "gbit"})
    EXPECT_THAT(Problems(R"({"default": {"max": ")" + wrong + R"("}})", rates),
                ElementsAre(HasSubstr("rates.default.max")));
  EXPECT_THAT(Problems(R"({"tenants": {"a": {"share": 0}}})", rates),
              ElementsAre(HasSubstr("rates.tenants.a.share")));
  EXPECT_THAT(Problems(R"({"tenants": {"a": {"min": "1gbit"}}})", rates), ElementsAre(HasSubstr("min")));
  EXPECT_THAT(Problems(R"({"tenant": {}})", rates), ElementsAre(HasSubstr("tenant")));
}

TEST(ParseRates, AShareIsNoMoreThanTheLimit) {
  std::optional<Rates> rates;
  EXPECT_THAT(Problems(R"({"default": {"max": "2mbit"}, "tenants": {"a": {"share": 3}}})", rates),
              ElementsAre(HasSubstr("rates.tenants.a: max must be at least")));
  EXPECT_THAT(Problems(R"({"tenants": {"a": {"share": 3, "max": "3mbit"}}})", rates), IsEmpty());
}

TEST(ParseMbit, TakesWholeNumbersWithAUnit) {
  EXPECT_EQ(ParseMbit("1mbit"), 1U);
  EXPECT_EQ(ParseMbit("10000gbit"), 10'000'000U);
}

}  // namespace
}  // namespace rail::config
