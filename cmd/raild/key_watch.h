// The keys of the tenants as their files say: read again when a file changes, and never worse than before.
//
// Use:      KeyWatch keys(config.tenancy, deps.load_tenancy, picture, [] { ... });
//           RAIL_TRY(keys.Read());  keys.Watch(loop);     // from then on by itself
// Threads:  the loop's; `changed` is called on it
// Owns:     an inotify descriptor
// Source:   inotify(7)
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "lib/base/fd.h"
#include "lib/engine/picture.h"
#include "lib/event/loop.h"

namespace rail::raild {

class KeyWatch {
 public:
  using Load = std::function<Result<tenancy::Tenancy>(const config::Tenancy&)>;
  // `changed`: after a look of Watch's that found other keys than the one before, or something else wrong with their files.
  KeyWatch(const config::Tenancy& config, Load load, engine::Picture& picture, std::function<void()> changed)
      : config_(config), load_(std::move(load)), picture_(picture), changed_(std::move(changed)) {}

  // True: the picture has other keys than before. Errors: what is wrong with a key file; the keys of before stay in use.
  Result<bool> Read();
  // From now on, on `loop`, which must end before this.
  void Watch(event::Loop& loop);

 private:
  void Look();
  void WatchFolders();
  void Soon(event::Loop& loop);

  const config::Tenancy& config_;
  const Load load_;
  engine::Picture& picture_;
  const std::function<void()> changed_;
  Fd inotify_;
  std::string problem_;  // what is wrong with a file; "": nothing
  bool scheduled_ = false;
};

}  // namespace rail::raild
