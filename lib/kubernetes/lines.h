// Lines out of the pieces in which a stream brings them.
//
// Use:      RAIL_TRY(lines.Add(bytes, [](const std::string& line) -> Status { ... }));
// Threads:  one
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/base/error.h"

namespace rail::kubernetes {

class Lines {
 public:
  // Calls `take` for each line that is whole now and is not empty. Errors: kInvalid a line of more than 4 MB; those of `take`, which end it.
  Status Add(std::string_view bytes, const std::function<Status(const std::string& line)>& take);
  void Clear() { rest_.clear(); }

 private:
  std::string rest_;  // the beginning of a line
};

}  // namespace rail::kubernetes
