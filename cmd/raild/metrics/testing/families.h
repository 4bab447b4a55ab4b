// The metrics that a message may have, for the tests that compare them with the page and the reference.
//
// Use:      for (const DocumentFamily& family : FamiliesOf(*v1::NodeState::descriptor())) ...
// Threads:  pure functions
#pragma once

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cmd/raild/metrics/names.h"
#include "lib/base/text.h"
#include "rail/v1/options.pb.h"

namespace rail::metrics {

struct DocumentFamily {
  std::string name, labels, help, more;  // labels: separated by commas; more: for the reference
  Kind kind = Kind::kGauge;
};

// "phase" of "phase=adding".
inline std::string Key(const std::string& pair) {
  return pair.substr(0, pair.find('='));
}

inline void Collect(const google::protobuf::Descriptor& type, std::string labels,
                    std::vector<DocumentFamily>& all) {
  const auto with = [&](const std::string& more) {
    return labels + (labels.empty() || more.empty() ? "" : ",") + more;
  };
  // `option`: a Metric or an Info. Of several fields with one metric the first counts.
  const auto add = [&](const auto& option, Kind kind, const std::string& its) {
    if (std::ranges::find(all, option.name(), &DocumentFamily::name) != all.end()) return;
    all.push_back(
        {.name = option.name(), .labels = its, .help = option.help(), .more = option.more(), .kind = kind});
  };
  for (int i = 0; i < type.field_count(); ++i)
    labels = with(type.field(i)->options().GetExtension(v1::label));
  if (type.options().HasExtension(v1::info)) {
    const v1::Info& info = type.options().GetExtension(v1::info);
    std::string its = labels;
    for (const std::string& each : info.labels()) Append(its, ",", Key(each));
    add(info, Kind::kGauge, its);
  }
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.options().HasExtension(v1::metric)) {
      const v1::Metric& metric = field.options().GetExtension(v1::metric);
      const std::string own = Key(metric.with()) + metric.as() + Key(metric.one_of());
      add(metric, metric.counter() ? Kind::kCounter : Kind::kGauge, with(own));
    }
    if (field.message_type() != nullptr) Collect(*field.message_type(), labels, all);
  }
}

// Every metric that a message of this type may have, with its labels. Each once.
inline std::vector<DocumentFamily> FamiliesOf(const google::protobuf::Descriptor& message) {
  std::vector<DocumentFamily> all;
  Collect(message, "", all);
  return all;
}

}  // namespace rail::metrics
