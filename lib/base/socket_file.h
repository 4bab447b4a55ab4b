// A unix socket's name in the file system. Nobody can connect before the socket has its rights. A socket that another process
// still serves is never taken away from it.
//
// gRPC's server removes, when it ends, what has the name that it bound, whoever has made it: so it binds one that nobody else has.
//
// Use:      RAIL_ASSIGN(SocketFile file, SocketFile::Prepare("/run/railcni/raild.sock"));
//           ... bind and listen on file.bind_path() ...
//           RAIL_TRY(file.Publish("railcni"));                 // now it has its name
// Threads:  one at a time
// Owns:     the socket's name: removed with this, unless another process has replaced it
// Source:   unix(7), rename(2)
#pragma once

#include <sys/types.h>

#include <string>

#include "lib/base/error.h"

namespace rail {

class SocketFile {
 public:
  // Makes the folder of `path` (0755) when it is missing, and in it a private folder to bind in.
  //   path  absolute, at most 107 bytes
  // Errors: kBusy somebody answers on `path`; kExists it is there and is no socket; kInvalid too long; what
  // mkdir(2) says.
  static Result<SocketFile> Prepare(const std::string& path);

  // Where to bind: a name that only root can reach.
  const std::string& bind_path() const { return bind_path_; }

  // Gives the bound socket its rights and its name, in place of a dead one. When the group exists: root and
  // the group may connect (0660); else root alone (0600).
  Status Publish(const std::string& group);
  // Whether the published socket still has its name, while somebody listens on it.
  bool IsThere() const;

  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

 private:
  SocketFile(std::string path, std::string folder);
  void RemoveFolder();

  std::string path_;
  std::string folder_;  // the private one; "" when it is gone
  std::string bind_path_;
  ino_t inode_ = 0;  // of the published socket; 0: not published
};

}  // namespace rail
