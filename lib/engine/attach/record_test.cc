#include "lib/engine/attach/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/world.h"

namespace rail::engine {
namespace {

using testing::Dependency;
using ::testing::SizeIs;
using testing::World;

class RecordReaderTest : public ::testing::Test {
 protected:
  RecordReaderTest() {
    world_.faults.before = [this](Dependency dependency, std::string_view call) {
      lists_ += dependency == Dependency::kState && call == "List" ? 1 : 0;
    };
  }
  state::Attachment Made() {
    state::Attachment draft;
    draft.key = {"rail0", "c" + std::to_string(++made_), "net1"};
    return world_.record.Create(draft).value();
  }

  World world_;
  std::unique_ptr<state::Store> store_ = world_.deps().open_store().value();
  RecordReader reader_{*store_};
  int lists_ = 0;
  int made_ = 0;
};

TEST_F(RecordReaderTest, ReadsOnceAsLongAsNobodyWrites) {
  Made();
  const RecordPtr first = reader_.Read().value();
  EXPECT_THAT(first->attachments, SizeIs(1));
  EXPECT_EQ(reader_.Read().value(), first);
  EXPECT_EQ(lists_, 1);
}

TEST_F(RecordReaderTest, SeesWhatAnotherConnectionHasWritten) {
  const RecordPtr first = reader_.Read().value();
  const int64_t id = Made().id;
  const RecordPtr second = reader_.Read().value();
  EXPECT_THAT(second->attachments, SizeIs(1));
  ASSERT_TRUE(world_.record.RecordStep(id, "ovs-provider", "port", "{}"));
  EXPECT_TRUE(reader_.Read().value()->Has(id, "port"));
  EXPECT_THAT(first->attachments, SizeIs(0)) << "a reading never changes";
}

TEST_F(RecordReaderTest, SeesWhatItsOwnConnectionHasWritten) {
  const int64_t id = Made().id;
  ASSERT_TRUE(reader_.Read());
  ASSERT_TRUE(store_->SetOfport(id, 7));
  EXPECT_EQ(reader_.Read().value()->attachments[0].ofport, 7);
}

TEST_F(RecordReaderTest, SaysThatTheRecordCannotBeReadAlsoWhenItWasBefore) {
  ASSERT_TRUE(reader_.Read());
  world_.faults.down = {Dependency::kState};
  EXPECT_FALSE(reader_.Read());
}

}  // namespace
}  // namespace rail::engine
