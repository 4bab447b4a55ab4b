// Prints metrics as text for Prometheus.
//
// Use:      Exposition page;  page.Add(kRailCarrier, {"rail0"}, 1);  page.Text()
// Threads:  one at a time
// Source:   Prometheus, "Exposition formats" (text format 0.0.4): HELP and TYPE come once, before the samples of a family; the
//           samples of a family are together; \\, \" and \n are escaped in label values
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/raild/metrics/histogram.h"
#include "cmd/raild/metrics/names.h"

namespace rail::metrics {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

// A family by its texts: what a Family is where the name is known only as the page is made.
struct Sample {
  std::string_view name, help;
  Kind kind = Kind::kGauge;
};
using Labels = std::vector<std::pair<std::string, std::string>>;

class Exposition {
 public:
  // `value`: as the page has it. Of a family that has several samples, `help` may be empty in all but the first.
  void Add(const Sample& family, const Labels& labels, std::string_view value);

  // `values`: the values of the family's labels, in their order, in UTF-8. If a family gets the same values twice, the page is
  // invalid.
  void Add(const Family& family, std::initializer_list<std::string_view> values, uint64_t value);
  void AddSeconds(const Family& family, std::initializer_list<std::string_view> values, double value);

  void Add(const Family& family, std::initializer_list<std::string_view> values, const Histogram& histogram);

  // Every family that has a sample, in the order of their first samples.
  std::string Text() const;

 private:
  struct Group {
    std::string name, help;
    Kind kind = Kind::kGauge;
    std::string samples;
  };
  void Append(const Sample& family, std::string_view suffix, const Labels& labels, std::string_view value);
  // Where the samples of a family go.
  std::string& SamplesOf(const Sample& family);
  // Appends `suffix` to the name, and puts the label `le` in front of the others if it is not empty.
  void AddSample(const Family& family, std::initializer_list<std::string_view> values, std::string_view value,
                 std::string_view suffix = {}, std::string_view le = {});

  std::vector<Group> groups_;
};

}  // namespace rail::metrics
