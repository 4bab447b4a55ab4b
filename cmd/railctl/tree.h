// The tree of railctl's commands with their options and help: the one place that knows them. The parser, the completion and the
// help all read it.
//
// Use:      const auto tree = MakeTree(flags);   tree->parse(...);   // writes into flags
// Threads:  one
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cmd/railctl/flags.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rail::railctl {

// `flags` must outlive the tree.
std::shared_ptr<CLI::App> MakeTree(Flags& flags);

// The commands of one level, in the order of the help.
std::vector<const CLI::App*> CommandsOf(const CLI::App& app);

// "get attachments"; "" of the root.
std::string PathOf(const CLI::App& app);

// The option of this command, or of one above it, that is written so ("-n", "--rail"); null: none.
const CLI::Option* OptionOf(const CLI::App& app, const std::string& written);

bool TakesValue(const CLI::Option& option);

}  // namespace rail::railctl
