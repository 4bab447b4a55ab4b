// Versions of the CNI specification: which of them we support, and which of two is newer.
//
// Use:      if (AtLeast(request.cni_version, "0.4.0")) ...          // both are versions that we support
// Threads:  any thread
// Source:   CNI SPEC.md tags; reference version package for the texts of ParseVersion's errors
#pragma once

#include <array>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail::cni {

// The versions that every plugin of ours supports, oldest first.
const std::vector<std::string>& SupportedVersions();

bool IsSupported(const std::string& version);

// "1.0.0" -> {1, 0, 0}; missing parts are 0. Errors: kInvalid, in the words of the reference.
Result<std::array<int, 3>> ParseVersion(const std::string& version);

// Whether `version` is `other` or newer. A text that is not a version is older than every version.
bool AtLeast(const std::string& version, const std::string& other);

// Text in double quotes as the reference prints it (Go's %q for what matters here).
std::string Quote(const std::string& text);

// ["0.3.0" "0.3.1"]
std::string QuoteList(const std::vector<std::string>& texts);

}  // namespace rail::cni
