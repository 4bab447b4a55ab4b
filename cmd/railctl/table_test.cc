#include "cmd/railctl/table.h"

#include <gtest/gtest.h>

#include <sstream>
#include <utility>

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

TEST(Table, AlarmsInRedUnlessItIsZeroOrUnknown) {
  const auto printed = [](bool color) {
    Table table({"PORT", "DROPS"}, {.color = color, .alarming = {"DROPS"}});
    table.Add({"a", "0"});
    table.Add({"b", ""});
    table.Add({"c", "12"});
    std::ostringstream out;
    table.Print(out);
    return out.str();
  };
  EXPECT_EQ(printed(true), "PORT   DROPS\na      0\nb      -\nc      \x1b[31m12\x1b[0m\n");
  EXPECT_EQ(printed(false), "PORT   DROPS\na      0\nb      -\nc      12\n");
}

std::string Printed(Table table, std::vector<std::string> row) {
  table.Add(std::move(row));
  std::ostringstream out;
  table.Print(out);
  return out.str();
}

TEST(Table, LeavesOutItsHeaderAndHiddenColumns) {
  EXPECT_EQ(Printed(Table({"NAME", "MTU", "AGE"}, {.headers = false, .hidden = {"MTU"}}), {"a", "1", "5s"}),
            "a   5s\n");
  EXPECT_EQ(Printed(Table({"NAME", "MTU"}, {.hidden = {"MTU"}}), {"a", "1"}), "NAME\na\n");
}

TEST(Table, CutsTheLastColumnAtACharacter) {
  EXPECT_EQ(Printed(Table({"A", "WHY"}, {.width = 7}), {"x", "ééé"}), "A   WHY\nx   ééé\n");
  EXPECT_EQ(Printed(Table({"A", "WHY"}, {.width = 7}), {"x", "éééé"}), "A   WHY\nx   éé…\n");
}

TEST(Table, ColoursWhatIsAStateAndKeepsItsColumns) {
  EXPECT_EQ(Printed(Table({"POD", "STATE", "AGE"}, {.color = true}), {"failed", "failed", "1s"}),
            "POD      STATE    AGE\n"
            "failed   \x1b[31mfailed\x1b[0m   1s\n")
      << "a pod may be called so";
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
