#include "lib/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rail {
namespace {

Status Refuse() {
  return FailErrno(ENODEV, "get link vf0");
}
Result<int> Three() {
  return 3;
}

Result<int> AddTo(bool refuse) {
  RAIL_ASSIGN(const int three, Three());
  if (refuse) RAIL_TRY_AS(Refuse(), "attach vf0");
  return three + 1;
}

TEST(Error, PassesTheValueOnWhenNothingFails) {
  EXPECT_EQ(AddTo(false).value(), 4);
}

TEST(Error, WrapsOneClauseAndKeepsCodeAndErrno) {
  const auto result = AddTo(true);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kNotFound);
  EXPECT_EQ(result.error().sys_errno, ENODEV);
  EXPECT_EQ(result.error().message, "attach vf0: get link vf0: No such device");
}

Status Nested() {
  const auto run = [](const auto& body) -> Status { return body(); };
  RAIL_TRY(run([&]() -> Status {
    RAIL_ASSIGN(const int three, Three());
    RAIL_TRY(three == 3 ? Refuse() : Status());
    return {};
  }));
  return {};
}

TEST(Error, IsReturnedThroughNestedFunctions) {
  EXPECT_EQ(Nested().error().code, Code::kNotFound);
}

}  // namespace
}  // namespace rail
