// Metrics as the text that Prometheus reads.
//
// Use:      Exposition page;  page.Add(kRailCarrier, {"rail0"}, 1);  page.Text()
// Threads:  one at a time
// Source:   Prometheus, "Exposition formats" (text format 0.0.4): HELP and TYPE once, before the samples of a family, which
//           stand together; \\, \" and \n escaped in values of labels
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/raild/metrics/histogram.h"
#include "cmd/raild/metrics/names.h"

namespace rail::metrics {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

class Exposition {
 public:
  // `values`: of the family's labels, in their order, UTF-8. The same values twice in a family make the page invalid.
  void Add(const Family& family, std::initializer_list<std::string_view> values, uint64_t value);
  void AddSeconds(const Family& family, std::initializer_list<std::string_view> values, double value);

  void Add(const Family& family, std::initializer_list<std::string_view> values, const Histogram& histogram);

  // Every family that has a sample, in the order of their first.
  std::string Text() const;

 private:
  struct Group {
    const Family* family = nullptr;
    std::string samples;
  };
  // `suffix` of the name, `le` in front of the other labels where it is not empty.
  void AddSample(const Family& family, std::initializer_list<std::string_view> values, std::string_view value,
                 std::string_view suffix = {}, std::string_view le = {});

  std::vector<Group> groups_;
};

}  // namespace rail::metrics
