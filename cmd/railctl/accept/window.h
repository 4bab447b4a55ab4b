// A time in which somebody does to the fabric what `railctl accept` itself may not.
//
// Use:      { const Window window(err, "restarts", "restart now what you want to know about", 60);   ...   }   // says when it is over
// Threads:  one
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "lib/base/clock.h"

namespace rail::accept {

class Window {
 public:
  // `now`: what is to be done.
  Window(std::ostream& err, std::string of, const std::string& now, uint32_t seconds)
      : err_(err), of_(std::move(of)), until_(After(std::chrono::seconds(seconds))) {
    err_ << now << ": you have " << seconds << " s" << std::endl;
  }
  ~Window() { err_ << "the time for " << of_ << " is over" << std::endl; }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  Deadline until() const { return until_; }

 private:
  std::ostream& err_;
  const std::string of_;
  const Deadline until_;
};

}  // namespace rail::accept
