// The attempts of a check from pod to pod, as HTML tables: for each rail one, a row for each pod that sends.
//
// Use:      const std::string tables = MatricesOf(check, links);
// Threads:  pure functions
#pragma once

#include <map>
#include <string>

#include "cmd/railctl/accept/parts.h"

namespace rail::accept {

// Whether the attempt has a cell.
bool HasCell(const Attempt& attempt);

// `links`: the ids of elements with the evidence of attempts; a cell whose attempt has one leads there. Empty: no attempt has a cell.
std::string MatricesOf(const Check& check, const std::map<const Attempt*, std::string>& links);

}  // namespace rail::accept
