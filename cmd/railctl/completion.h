// The scripts that complete railctl's words in a shell, made of the tree of its commands.
//
// Use:      out << Completion(*tree, "bash");
// Threads:  pure function
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace rail::railctl {

// `shell`: "bash" or "zsh". The names of pods and rails come from raild when the key is pressed; without raild there are none.
std::string Completion(const CLI::App& tree, const std::string& shell);

}  // namespace rail::railctl
