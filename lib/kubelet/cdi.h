// What a container runtime adds to the containers of a claim: CDI specs, one file for each claim, in it one CDI device for each request.
//
// Use:      nlohmann::json spec;   RAIL_ASSIGN(const auto names, AddCdiDevice(spec, uid, "rail0", allocation));
//           RAIL_TRY(PutCdi("/var/run/cdi", uid, spec));
// Threads:  any; for one uid one at a time
// Owns:     the files "railcni.io_rail_<uid>.json" of a CDI folder, whoever wrote them
// Source:   cncf-tags/container-device-interface: SPEC.md (0.5.0), pkg/parser (names), pkg/cdi (what a runtime refuses)
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/kubelet/plugin.h"

namespace rail::kubelet {

// Whether `name` has letters and digits, and those of `between` only between them, 253 at most. Without '/' there it is no path.
bool IsName(std::string_view name, std::string_view between);

// Adds the device of a request to `spec`, null at first: "<uid>-<request>", with '.' for the '/' of "request/subrequest". A request without
// edits has none: runtimes refuse an empty one. Two devices of one container that set one variable overwrite each other, so
// `allocation` is that of the whole request, with variables that two requests have in common equal in both. Returns what containers name: its cdi_names and, if there is one, this device.
// Errors: kInvalid what CDI cannot express, or a runtime refuses; `spec` stays as it was.
Result<std::vector<std::string>> AddCdiDevice(nlohmann::json& spec, const std::string& uid,
                                              const std::string& request, const Allocation& allocation);

// Makes the claim's file so. null: removes it.
Status PutCdi(const std::string& folder, const std::string& uid, const nlohmann::json& spec);
// Removes the files of other claims, and what a killed writer has left.
Status KeepCdiOf(const std::string& folder, const std::set<std::string>& uids);

}  // namespace rail::kubelet
