#include "lib/engine/learned/as_paths.h"

#include <gmock/gmock.h>

namespace rail::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AsPaths, APathIsKeptOnceAndTellsItsEnds) {
  AsPathsKeeper keeper;
  const uint32_t near = keeper.Keep({101, 7});
  const uint32_t far = keeper.Keep({101, 200, 102, 8});
  EXPECT_EQ(keeper.Keep({101, 200, 102, 8}), far);
  EXPECT_NE(near, far);
  const AsPaths& paths = keeper.snapshot();
  EXPECT_THAT(paths.Numbers(far), ElementsAre(101, 200, 102, 8));
  EXPECT_EQ(paths.Origin(far), 8U);
  EXPECT_EQ(paths.Leaf(far), 102U);
  EXPECT_EQ(paths.Hops(far), 4U);
  EXPECT_EQ(paths.Leaf(near), 101U);
  EXPECT_EQ(paths.Hops(near), 2U);
}

TEST(AsPaths, AnAsThatIsPrependedIsOneHop) {
  AsPathsKeeper keeper;
  const uint32_t path = keeper.Keep({101, 101, 102, 8, 8, 8});
  EXPECT_EQ(keeper.snapshot().Hops(path), 3U);
  EXPECT_EQ(keeper.snapshot().Leaf(path), 102U);
  EXPECT_EQ(keeper.snapshot().Leaf(keeper.Keep({8, 8})), 0U);
}

TEST(AsPaths, TheEmptyPathIsNotKnown) {
  AsPathsKeeper keeper;
  EXPECT_EQ(keeper.Keep({}), 0U);
  EXPECT_THAT(keeper.snapshot().Numbers(0), IsEmpty());
  EXPECT_EQ(keeper.snapshot().Origin(0), 0U);
  EXPECT_EQ(keeper.snapshot().Leaf(0), 0U);
  EXPECT_EQ(keeper.snapshot().Hops(0), 0U);
}

TEST(AsPaths, ASnapshotDoesNotChangeAndNodesOfALeafShareTheWay) {
  AsPathsKeeper keeper;
  const uint32_t first = keeper.Keep({101, 200, 102, 1});
  const AsPaths before = keeper.snapshot();
  uint32_t last = 0;
  for (uint32_t node = 2; node <= 10000; ++node) last = keeper.Keep({101, 200, 102, node});
  EXPECT_EQ(last, first + 9999);  // one step for each node
  EXPECT_THAT(before.Numbers(last), IsEmpty());
  EXPECT_THAT(before.Numbers(first), ElementsAre(101, 200, 102, 1));
  EXPECT_THAT(keeper.snapshot().Numbers(last), ElementsAre(101, 200, 102, 10000));
}

}  // namespace
}  // namespace rail::engine
