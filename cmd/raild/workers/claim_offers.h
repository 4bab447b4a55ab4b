// The rails' devices for claims: raild as the kubelet's DRA driver of the node.
//
// Use:      ClaimOffers offers(config, views, sysfs, folders, libraries, server, see);
//           const auto again = offers.Look(Clock::now());   RAIL_TRY(offers.Serve());   offers.ViewChanged();
// Threads:  one; the kubelet's calls are answered on the driver's own
// Owns:     the driver's server and sockets, the claims that are prepared
// Source:   lib/kubelet/README.md
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cmd/raild/workers/library_files.h"
#include "cmd/raild/workers/rail_devices.h"
#include "cmd/raild/workers/rail_pools.h"
#include "lib/kubelet/dra_plugin.h"
#include "lib/kubelet/prepared_claims.h"
#include "lib/kubernetes/resource_claims.h"
#include "lib/kubernetes/resource_slices.h"
#include "lib/sriov/sysfs.h"

namespace rail::raild {

// What the API server is asked and told, by any thread (resource_worker).
class ClaimServer {
 public:
  virtual ~ClaimServer() = default;
  virtual const std::string& node() const = 0;
  // Errors: as kubernetes::GetClaim.
  virtual Result<kubernetes::Claim> Claim(const kubernetes::ClaimName& claim, Deadline until) = 0;
  // The newest list counts. Returns at once.
  virtual void Publish(std::vector<kubernetes::Device> devices) = 0;
  // The kubelet may have deleted what was published.
  virtual void PublishAgain() = 0;
  // The newest statuses of a claim count. Returns at once.
  virtual void Report(const kubernetes::ClaimName& claim, std::vector<kubernetes::DeviceStatus> statuses) = 0;
};

// The health of all devices, as the kubelet is to have it.
class DeviceHealths {
 public:
  // `problems`: by the device's name; "": it is healthy.
  const std::vector<kubelet::DeviceHealth>& See(const std::string& pool,
                                                const std::map<std::string, std::string>& problems);
  const std::vector<kubelet::DeviceHealth>& list() const { return list_; }

 private:
  std::vector<kubelet::DeviceHealth> list_;
};

class ClaimOffers final : public Offers {
 public:
  struct Folders {
    std::string kubelet = "/var/lib/kubelet";  // its plugins and plugins_registry
    std::string claims;                        // what is prepared; it outlives a reboot
    std::string cdi = "/var/run/cdi";
  };

  ClaimOffers(const config::NodeConfig& config, const engine::ViewPublisher& views, sriov::Sysfs sysfs,
              Folders folders, LibraryFiles* libraries, ClaimServer& server, RailPools::See see);
  ~ClaimOffers() override;

  // Tells the kubelet of all devices' health each time: it forgets what it has not heard of for 30 s.
  std::optional<Deadline> Look(Deadline now) override;
  // Errors: of PreparedClaims::Open and DraPlugin::Start; why the kubelet has not taken the driver.
  Status Serve() override;
  std::vector<RailPools::Count> counts() const override { return pools_.counts(); }
  // The pods that have a device which a claim of their namespace holds, by the device's id. Nothing: it is not known yet.
  std::optional<std::map<std::string, PodName>> Given(const engine::NodeView& view) const;
  // Writes what pods have become in the status of their claims, and in the metadata that their containers read. Errors: of the first that fails,
  // after all have been tried.
  Status ViewChanged();

 private:
  // A device as it is published.
  struct Offered {
    const config::Rail* rail = nullptr;
    std::string id;  // "0000:3b:00.2"
    kubernetes::Device shown;
  };

  Result<std::vector<kubelet::PreparedDevice>> Prepare(const kubelet::ClaimName& claim, Deadline until);
  Status Unprepare(const kubelet::ClaimName& claim, Deadline until);
  Result<std::map<std::string, Offered>> Find(const kubelet::ClaimName& claim,
                                              const std::vector<kubelet::AllocatedDevice>& devices) const;
  Result<kubelet::Allocation> EditsOf(const kubelet::ClaimName& claim, const std::string& request,
                                      const std::vector<kubelet::AllocatedDevice>& devices,
                                      const std::map<std::string, Offered>& offered, bool libraries);
  using Attached =
      std::map<std::string, const state::Attachment*>;  // those that are ready, by the device's name
  static Attached AttachedIn(const engine::NodeView& view);
  Status Describe(const kubelet::ClaimName& claim, const std::vector<kubelet::AllocatedDevice>& devices,
                  const std::map<std::string, Offered>& offered, const Attached& attached,
                  Deadline until) const;
  Status TellOf(const kubelet::PreparedClaims::Holding& held, const Attached& attached);

  const config::NodeConfig& config_;
  const engine::ViewPublisher& views_;
  const sriov::Sysfs sysfs_;
  const Folders folders_;
  LibraryFiles* const libraries_;
  ClaimServer& server_;
  const std::string instance_;
  RailPools pools_;
  mutable std::mutex mutex_;
  std::map<std::string, Offered> offered_;  // by the device's name
  uint64_t prepared_ = 0;                   // how many claims were
  DeviceHealths healths_;
  struct Told {
    std::string of;                             // what there was to tell of the last time
    std::map<std::string, std::string> claims;  // by UID: the attachments of which its status tells
  } told_;
  std::optional<kubelet::PreparedClaims> claims_;
  std::unique_ptr<kubelet::DraPlugin> plugin_;  // last: it calls the others
};

}  // namespace rail::raild
