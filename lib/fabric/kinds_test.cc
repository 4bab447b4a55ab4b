#include "lib/fabric/kinds.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace rail::fabric {
namespace {

TEST(Kinds, EachHasAllThatAPersonIsTold) {
  for (const Kind& kind : Kinds()) {
    EXPECT_NE(kind.severity, v1::Finding::SEVERITY_UNSPECIFIED) << kind.id;
    for (const std::string_view text : {kind.why, kind.fix}) {
      ASSERT_FALSE(text.empty()) << kind.id;
      EXPECT_EQ(text.back(), '.') << kind.id << ": " << text;
    }
    EXPECT_FALSE(kind.one.empty()) << kind.id;
    EXPECT_NE(kind.one, kind.many) << kind.id;
  }
}

TEST(Kinds, EachHasItsOwnId) {
  std::set<std::string_view> ids;
  for (const Kind& kind : Kinds()) {
    EXPECT_TRUE(ids.insert(kind.id).second) << kind.id;
    for (const char c : kind.id)
      EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) != 0 || c == '-') << kind.id;
    EXPECT_EQ(&KindOf(kind.id), &kind);
  }
}

}  // namespace
}  // namespace rail::fabric
