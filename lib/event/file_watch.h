// A file that is replaced or written while a program runs, watched by its name: an editor and an installer give it a new inode.
//
// Use:      RAIL_ASSIGN(auto watch, FileWatch::Open("/etc/railcni/node.json"));
//           loop.Watch(watch.fd(), [&] { if (watch.Drain()) ReadItAgain(); });
// Threads:  one at a time
// Owns:     the descriptor (close-on-exec, non-blocking)
// Source:   inotify(7)
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::event {

class FileWatch {
 public:
  // Watches the folder of `path`, an absolute path; the file itself need not be there. A link of that name is watched as a name: who
  // changes what it leads to is not noticed, who replaces the link is. A folder that goes takes its watch with it.
  // Errors: kNotFound there is no such folder; kPermission; kTransient the user has as many watches as he may have.
  static Result<FileWatch> Open(const std::string& path);
  // The same for a socket, which is never written: Drain also tells that it was made.
  static Result<FileWatch> OpenForSocket(const std::string& path);

  int fd() const { return fd_.get(); }  // readable when something in the folder has changed
  // Takes all that has happened, without waiting. True: the file was written and closed, replaced or removed since the last call, or the
  // kernel has lost count. A file that is being written is not told of before its writer closes it.
  bool Drain();

 private:
  static Result<FileWatch> OpenFor(const std::string& path, uint32_t events);
  FileWatch(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Fd fd_;
  std::string name_;  // in its folder
};

}  // namespace rail::event
