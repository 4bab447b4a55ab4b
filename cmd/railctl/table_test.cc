#include "cmd/railctl/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rail::railctl {
namespace {

TEST(Table, AlignsColumnsByCharactersAndMarksEmptyCells) {
  Table table({"NAME", "TENANT", "AGE"});
  table.Add({"pod-a", "", "5s"});
  table.Add({"é", "team-a", "2d"});
  std::ostringstream out;
  table.Print(out);
  EXPECT_EQ(out.str(),
            "NAME    TENANT   AGE\n"
            "pod-a   -        5s\n"
            "é       team-a   2d\n");
}

TEST(Table, GoesOnWithTheSameColumnsInALaterPrint) {
  Table table({"EVENT", "POD"});
  table.Add({"MODIFIED", "a"});
  std::ostringstream out;
  table.Print(out);
  out.str("");
  table.Add({"ADDED", "b"});
  table.Print(out);
  EXPECT_EQ(out.str(), "ADDED      b\n");
}

TEST(Table, KeepsControlCharactersOffTheTerminal) {
  Table table({"PROBLEM"});
  table.Add({"a\x1b[2Jb\nc\x7f"});
  std::ostringstream out;
  table.Print(out);
  EXPECT_EQ(out.str(), "PROBLEM\na [2Jb c \n");
}

}  // namespace
}  // namespace rail::railctl
