// Measures every pair of interfaces of one tenant on one rail, judges each by the others of its rail, and says who is to blame.
//
// Use:      MeasureMesh(stage.ports(), false, {"speed.reach", measure, false, judge}, book);
// Threads:  one; `measure` is called by as many threads as a round has pairs
#pragma once

#include <functional>
#include <vector>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

struct Mesh {
  const char* check;
  // An attempt without rail, from and to; its verdict is kPass where only the comparison with others can say more.
  std::function<Attempt(const Port& from, const Port& to)> measure;
  bool higher_is_better;
  // Whether `value` is as good as `median`: that of the rail, of two in the middle the better one. What is not is measured once more before it
  // counts.
  std::function<bool(double value, double median)> good;
};

// `quick`: only as many pairs as tell who is to blame (search.h).
void MeasureMesh(const std::vector<Port>& ports, bool quick, const Mesh& mesh, Book& book);

}  // namespace rail::accept
