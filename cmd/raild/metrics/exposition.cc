#include "cmd/raild/metrics/exposition.h"

#include <fmt/core.h>

#include <algorithm>

namespace rail::metrics {
namespace {

void AppendEscaped(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
}

std::string_view TypeOf(Kind kind) {
  switch (kind) {
    case Kind::kGauge: return "gauge";
    case Kind::kCounter: return "counter";
    case Kind::kHistogram: return "histogram";
  }
  return "untyped";
}

}  // namespace

void Exposition::Add(const Family& family, std::initializer_list<std::string_view> values, uint64_t value) {
  AddSample(family, values, std::to_string(value));
}

void Exposition::AddSeconds(const Family& family, std::initializer_list<std::string_view> values,
                            double value) {
  AddSample(family, values, fmt::format("{}", value));
}

void Exposition::Add(const Family& family, std::initializer_list<std::string_view> values,
                     const Histogram& histogram) {
  for (size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    AddSample(family, values, std::to_string(histogram.below()[i]), "_bucket",
              fmt::format("{}", Histogram::kBounds[i]));
  }
  AddSample(family, values, std::to_string(histogram.count()), "_bucket", "+Inf");
  AddSample(family, values, fmt::format("{}", histogram.sum()), "_sum");
  AddSample(family, values, std::to_string(histogram.count()), "_count");
}

void Exposition::Add(const Sample& family, const Labels& labels, std::string_view value) {
  Append(family, "", labels, value);
}

void Exposition::Append(const Sample& family, std::string_view suffix, const Labels& labels,
                        std::string_view value) {
  std::string& text = SamplesOf(family);
  text += family.name;
  text += suffix;
  char before = '{';
  for (const auto& [label, its] : labels) {
    text += before;
    text += label;
    text += "=\"";
    AppendEscaped(text, its);
    text += '"';
    before = ',';
  }
  if (before == ',') text += '}';
  text += ' ';
  text += value;
  text += '\n';
}

std::string& Exposition::SamplesOf(const Sample& family) {
  auto group = std::ranges::find(groups_, family.name, &Group::name);
  if (group == groups_.end()) {
    group = groups_.insert(groups_.end(), {.name = std::string(family.name),
                                           .help = std::string(family.help),
                                           .kind = family.kind,
                                           .samples = {}});
  }
  return group->samples;
}

void Exposition::AddSample(const Family& family, std::initializer_list<std::string_view> values,
                           std::string_view value, std::string_view suffix, std::string_view le) {
  Labels labels;
  if (!le.empty()) labels.emplace_back("le", le);
  std::string_view names = family.labels;
  for (const std::string_view each : values) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    labels.emplace_back(name, each);
  }
  Append({.name = family.name, .help = family.help, .kind = family.kind}, suffix, labels, value);
}

std::string Exposition::Text() const {
  std::string text;
  for (const Group& group : groups_) {
    text +=
        fmt::format("# HELP {} {}\n# TYPE {} {}\n", group.name, group.help, group.name, TypeOf(group.kind));
    text += group.samples;
  }
  return text;
}

}  // namespace rail::metrics
