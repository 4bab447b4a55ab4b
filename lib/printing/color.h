// Colours for the eye: red what is broken, yellow what is not yet or no longer well, green what is well.
//
// Use:      Painter paint(flags.color);   out << paint("CRITICAL") << ...
// Threads:  values
#pragma once

#include <string>

namespace rail::printing {

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}

  // `word` between the escape sequences of its meaning; as it is when it has none, or without colour.
  std::string operator()(const std::string& word) const;
  // Any text, as what is broken.
  std::string Red(const std::string& text) const { return color_ ? "\x1b[31m" + text + "\x1b[0m" : text; }

 private:
  bool color_;
};

// Whether to use colour: stdout is a terminal that can show it, and NO_COLOR (https://no-color.org) is not set.
bool ColorWanted();

}  // namespace rail::printing
