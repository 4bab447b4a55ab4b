#include "cmd/railctl/accept/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>

#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/rounds.h"
#include "cmd/railctl/accept/search.h"
#include "cmd/railctl/accept/suspects.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

struct Tried {
  const Port* from;
  const Port* to;
  Attempt attempt;
};

using Ports = std::vector<std::pair<const Port*, const Port*>>;

std::vector<Tried> MeasureTogether(const Ports& pairs, const Mesh& mesh) {
  std::vector<std::future<Attempt>> running;
  running.reserve(pairs.size());
  for (const auto& [from, to] : pairs)
    running.push_back(
        std::async(std::launch::async, [&mesh, from = from, to = to] { return mesh.measure(*from, *to); }));
  std::vector<Tried> tried;
  for (size_t i = 0; i < pairs.size(); ++i)
    tried.push_back({pairs[i].first, pairs[i].second, running[i].get()});
  return tried;
}

std::vector<Tried> MeasureAll(const std::vector<Port>& ports, const Mesh& mesh, const Book& book) {
  std::vector<Ports> rounds;
  for (const auto& circle : Circles(ports)) {
    const auto of_circle = Rounds(circle.size());
    rounds.resize(std::max(rounds.size(), of_circle.size()));
    for (size_t i = 0; i < of_circle.size(); ++i) {
      for (const Pair& pair : of_circle[i]) rounds[i].emplace_back(circle[pair.a], circle[pair.b]);
    }
  }
  std::vector<Tried> all;
  for (size_t i = 0; i < rounds.size(); ++i) {
    book.Say(fmt::format("{}, round {} of {}", mesh.check, i + 1, rounds.size()));
    std::ranges::move(MeasureTogether(rounds[i], mesh), std::back_inserter(all));
  }
  return all;
}

std::map<std::string, double> Medians(const std::vector<Tried>& all, bool higher_is_better) {
  std::map<std::string, std::vector<double>> values;
  for (const Tried& tried : all) {
    if (tried.attempt.verdict() == kPass) values[tried.from->rail].push_back(tried.attempt.value());
  }
  std::map<std::string, double> medians;
  for (auto& [rail, of_rail] : values) {
    const size_t number = (higher_is_better ? of_rail.size() : of_rail.size() - 1) / 2;
    const auto middle = of_rail.begin() + static_cast<std::ptrdiff_t>(number);
    std::ranges::nth_element(of_rail, middle);
    medians[rail] = *middle;
  }
  return medians;
}

bool Good(const Mesh& mesh, const Tried& tried, const std::map<std::string, double>& medians) {
  if (tried.attempt.verdict() != kPass) return false;
  const auto median = medians.find(tried.from->rail);
  return median == medians.end() ||
         mesh.good(tried.attempt.value(), median->second);  // none: nothing else has worked there
}

Seat SeatOf(const Port& port) {
  return {port.node->name, port.rail, port.leaf};
}

// Of one tenant, on all rails at once.
std::vector<Tried> Ask(const std::vector<const Port*>& ports, const Mesh& mesh, const Book& book) {
  std::vector<Seat> seats;
  for (const Port* port : ports) seats.push_back(SeatOf(*port));
  Search search(seats);
  std::vector<Tried> all;
  size_t asked = 0;
  for (auto round = search.NextRound(); !round.empty(); round = search.NextRound()) {
    book.Say(fmt::format("{}, round {}", mesh.check, ++asked));
    Ports pairs;
    for (const Pair& pair : round) pairs.emplace_back(ports[pair.a], ports[pair.b]);
    const auto tried = MeasureTogether(pairs, mesh);
    all.insert(all.end(), tried.begin(), tried.end());
    const auto medians = Medians(all, mesh.higher_is_better);
    std::vector<Measured> measured;
    for (size_t i = 0; i < round.size(); ++i) {
      if (tried[i].attempt.verdict() != kCouldNotMeasure)
        measured.push_back({round[i].a, round[i].b, !Good(mesh, tried[i], medians)});
    }
    search.Add(measured);
  }
  return all;
}

std::vector<Tried> MeasureSome(const std::vector<Port>& ports, const Mesh& mesh, const Book& book) {
  std::map<std::string, std::vector<const Port*>> tenants;
  for (const Port& port : ports) tenants[port.tenant].push_back(&port);
  std::vector<Tried> all;
  for (const auto& [tenant, theirs] : tenants)
    std::ranges::move(Ask(theirs, mesh, book), std::back_inserter(all));
  return all;
}

// Those who explain what is bad, and nothing else.
std::string Culprits(const std::vector<Tried>& all) {
  std::map<const Port*, size_t> numbers;
  std::vector<Seat> seats;
  std::vector<Measured> measured;
  const auto number = [&](const Port* port) {
    const auto [at, added] = numbers.try_emplace(port, seats.size());
    if (added) seats.push_back(SeatOf(*port));
    return at->second;
  };
  for (const Tried& tried : all) {
    if (tried.attempt.verdict() == kCouldNotMeasure) continue;
    const size_t from = number(tried.from);
    measured.push_back({from, number(tried.to), tried.attempt.verdict() == kFail});
  }
  return Join(Blame(seats, measured), "; ", &Suspect::sentence);
}

}  // namespace

void MeasureMesh(const std::vector<Port>& ports, bool quick, const Mesh& mesh, Book& book) {
  if (!book.Wants(mesh.check)) return;
  std::vector<Tried> all = quick ? MeasureSome(ports, mesh, book) : MeasureAll(ports, mesh, book);
  const auto medians = Medians(all, mesh.higher_is_better);
  bool failed = false;
  for (Tried& tried : all) {
    if (tried.attempt.verdict() != kCouldNotMeasure && !Good(mesh, tried, medians)) {
      book.Say(std::string(mesh.check) + ", once more: " + tried.from->pod() + " to " + tried.to->pod());
      tried.attempt = mesh.measure(*tried.from, *tried.to);
      if (tried.attempt.verdict() == kPass && !Good(mesh, tried, medians)) {
        tried.attempt.set_verdict(kFail);
        tried.attempt.set_seen(fmt::format("{}; the rail's median is {:.1f} {}", tried.attempt.seen(),
                                           medians.at(tried.from->rail), tried.attempt.unit()));
      }
    }
    failed = failed || tried.attempt.verdict() == kFail;
    book.Add(mesh.check, Between(*tried.from, *tried.to, tried.attempt));
  }
  if (failed) book.Explain(mesh.check, Culprits(all));
}

}  // namespace rail::accept
