// The checks of a run and what was found: every check that there is, and one attempt after the other.
//
// Use:      Book book(report, {}, [](const std::string& what) { ...draw... });
//           book.Begin("isolation");  book.Add("isolation.vlan", attempt);  book.End("isolation");
// Threads:  one
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

using Check = v1::AcceptReport::Check;
using Attempt = v1::AcceptReport::Attempt;
constexpr auto kPass = v1::AcceptReport::PASS;
constexpr auto kFail = v1::AcceptReport::FAIL;
constexpr auto kCouldNotMeasure = v1::AcceptReport::COULD_NOT_MEASURE;

// A row of the table of all checks.
struct CheckKind {
  const char* id;            // "group.check"
  const char* title;         // what is to hold
  const char* requirements;  // "SDN04 ClusterMAX-networking"
};
std::span<const CheckKind> AllChecks();

// Of a check ("isolation.vlan"), or a group's own name.
inline std::string GroupOf(const std::string& name) {
  return name.substr(0, name.find('.'));
}

class Book {
 public:
  // `says`: what runs now, for a progress bar.
  // `only`: the groups and checks that are wanted; empty: all.
  Book(v1::AcceptReport& report, std::vector<std::string> only, std::function<void(const std::string&)> says);

  bool Wants(const std::string& check) const;
  // Whether the report has all checks of the group that are wanted, as of a run that was stopped.
  bool IsDone(const std::string& group) const;

  // Makes the checks of a group, without an attempt. A group that the report has, from a run that was stopped, is made anew.
  void Begin(const std::string& group);
  // `check`: of a group that has begun. One that is not wanted is not kept.
  void Add(const std::string& check, Attempt attempt) { AddTogether({{check, std::move(attempt)}}); }
  // What was tried together: each attempt that is kept has an equal share of the seconds.
  struct Found {
    std::string check;
    Attempt attempt;
  };
  void AddTogether(std::vector<Found> found);
  // An attempt of each check of the group: nothing could be tried.
  void AddToAll(const std::string& group, const Attempt& attempt);
  // In place of what the attempts say by themselves.
  void Explain(const std::string& check, std::string why);
  void Say(const std::string& what) const { says_(what); }
  // Gives each check of the group its verdict, and why.
  void End(const std::string& group);

 private:
  Check* Find(const std::string& id);  // null: it is not wanted

  v1::AcceptReport& report_;
  const std::vector<std::string> only_;
  const std::function<void(const std::string&)> says_;
  std::chrono::steady_clock::time_point last_;  // when the group began, or had its newest attempt
};

// An attempt that has come to nothing.
Attempt NotMeasured(std::string why);

}  // namespace rail::accept
