// `raild --print-attachments`: what the node's record holds, for people and for scripts that must not take RailCNI away from pods.
//
// Use:      RAIL_ASSIGN(std::string text, AttachmentsText(state::Sqlite::OpenAsItIs(paths.state_file)));
// Threads:  any thread; changes nothing
#pragma once

#include <memory>
#include <string>

#include "lib/base/error.h"
#include "lib/state/store.h"

namespace rail::raild {

// One line for each attachment of the record: "tenant-a/a1 net1 on rail0, vf0x0: ready". Empty when there is none, or when there is
// no record (kNotFound). Errors: all others of opening and reading it; a record that cannot be read is not an empty one.
Result<std::string> AttachmentsText(Result<std::unique_ptr<state::Store>> store);

}  // namespace rail::raild
