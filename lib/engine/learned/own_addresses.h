// Which addresses of this node's pods somebody else announces, too, and has announced for so long that it is no pod that moves.
//
// Use:      OwnAddresses own(config);
//           own.Read(reader, remotes);                       // which addresses are this node's
//           if (own.Look(remotes.table(), now)) ...          // true: lasting() or health() has changed
// Threads:  one
// Source:   README.md of this folder ("What has been learned")
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/config/node_config.h"
#include "lib/engine/attach/record.h"
#include "lib/engine/learned/tenant_remotes.h"

namespace rail::engine {

// An address that two announce is reported after this time: two leaves do not hear of a new tenant at the same instant, and a pod
// that moves is announced twice for a moment.
inline constexpr std::chrono::seconds kContestedGrace{5};

class OwnAddresses {
 public:
  explicit OwnAddresses(const config::NodeConfig& config) : config_(config) {}

  // Gives `remotes` the addresses of the pods that are ready, if the record has changed. If it cannot be read, those of the last
  // reading stay.
  void Read(RecordReader& reader, TenantRemotes& remotes);
  bool Look(const RemoteTable& table, Deadline now);
  const AlsoAnnounced& lasting() const { return lasting_; }
  Status health() const;
  // When an address that is not in lasting() yet will be; nullopt: there is none.
  std::optional<Deadline> next() const;

 private:
  const config::NodeConfig& config_;
  RecordPtr read_;
  std::map<OwnKey, Deadline> since_;
  AlsoAnnounced lasting_;
};

}  // namespace rail::engine
