// lib/api/REFERENCE.md is what the options of the fields say. RAILCNI_WRITE_REFERENCE=1 writes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cmd/raild/metrics/testing/families.h"
#include "rail/v1/options.pb.h"
#include "rail/v1/state.pb.h"

namespace rail::metrics {
namespace {

using google::protobuf::Descriptor;

constexpr char kBegin[] =
    "# Columns and metrics\n"
    "\n"
    "Made of the options of the fields (`rail/v1/options.proto`) by `RAILCNI_WRITE_REFERENCE=1 "
    "metrics_test`: change them there.\n";

void AddColumns(const Descriptor& table, std::string& text) {
  for (int i = 0; i < table.field_count(); ++i) {
    const auto& options = table.field(i)->options();
    for (int n = 0; n < options.ExtensionSize(v1::column); ++n) {
      const v1::Column& column = options.GetExtension(v1::column, n);
      if (column.help().empty()) continue;
      text += "| " + column.name() + " | " + std::string(table.name()) + " | " +
              (column.wide() ? "with `-o wide`: " : "") + column.help() + " |\n";
    }
  }
}

std::string LabelsText(const std::string& labels) {
  std::string text = "`";
  for (const char each : labels) text += each == ',' ? std::string("`, `") : std::string(1, each);
  return labels.empty() ? "" : text + "`";
}

std::string Reference() {
  std::string text = kBegin;
  text += "\n## Columns\n\nOf railctl's tables, where a column does not explain itself.\n";
  text += "\n| column | of | |\n|---|---|---|\n";
  const google::protobuf::FileDescriptor& file = *v1::Rail::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i) AddColumns(*file.message_type(i), text);
  text +=
      "\n## Metrics\n\nOf raild's state. [The page of metrics](../../cmd/raild/metrics/README.md) has the "
      "others.\n";
  text += "\n| metric | labels | |\n|---|---|---|\n";
  for (const DocumentFamily& family : FamiliesOf(*v1::NodeState::descriptor())) {
    text += "| `" + family.name + "` | " + LabelsText(family.labels) + " | " + family.help +
            (family.more.empty() ? "" : " " + family.more) + " |\n";
  }
  return text;
}

TEST(Reference, IsWhatTheOptionsSay) {
  const std::string wanted = Reference();
  if (std::getenv("RAILCNI_WRITE_REFERENCE") != nullptr) std::ofstream(RAILCNI_REFERENCE) << wanted;
  std::ifstream file(RAILCNI_REFERENCE);
  const std::string there((std::istreambuf_iterator<char>(file)), {});
  const auto [now, was] = std::ranges::mismatch(wanted, there);
  const auto line = [](const std::string& of, std::string::const_iterator at) {
    const size_t begin = of.rfind('\n', static_cast<size_t>(at - of.begin()));
    return of.substr(begin == std::string::npos ? 0 : begin + 1, 300);
  };
  EXPECT_TRUE(wanted == there) << "the options say:\n"
                               << line(wanted, now) << "\nthe file says:\n"
                               << line(there, was) << "\nRAILCNI_WRITE_REFERENCE=1 writes it";
}

}  // namespace
}  // namespace rail::metrics
