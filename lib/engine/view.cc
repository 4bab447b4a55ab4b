#include "lib/engine/view.h"

#include <algorithm>

#include "lib/base/utf8.h"

namespace rail::engine {

bool RailView::connected() const {
  return seen.bgp_state() == frr::kEstablished || (seen.by_vlan() && seen.vlans().empty());
}

const frr::Session* RailView::SessionOn(const std::string& interface) const {
  const auto found = sessions.find(interface);
  return found == sessions.end() ? nullptr : &found->second;
}

const v1::RailVlan* RailView::VlanOf(tenancy::TenantId tenant) const {
  const auto found = std::ranges::find(seen.vlans(), tenant.ToString(),
                                       [](const v1::RailVlan& vlan) { return vlan.tenant().id(); });
  return found == seen.vlans().end() ? nullptr : &*found;
}

std::string TextOf(const MacAddress& mac) {
  return mac.is_zero() ? std::string() : mac.ToString();
}

MacAddress MacOf(const std::string& text) {
  return text.empty() ? MacAddress() : MacAddress::Parse(text).value_or(MacAddress());
}

void SetTenant(v1::Tenant& message, const std::string& name, tenancy::TenantId id) {
  message.set_name(ValidUtf8(name));
  if (!id.is_none()) message.set_id(id.ToString());
}

std::string AddressElsewhere::ToText() const {
  return address.ToString() + " is also announced by " + by +
         (other_tenant
              ? ": two claim it, so other nodes send nothing to it and drop what it sends"
              : ", of the same tenant: two pods have one address, and other nodes reach either of them");
}

const std::vector<RemoteView>& RemoteList::list() const {
  std::call_once(lazy_->made, [this] {
    if (lazy_->make) lazy_->list = lazy_->make();
    lazy_->make = nullptr;
  });
  return lazy_->list;
}

std::vector<RemoteView>& RemoteList::own() {
  auto mine = std::make_shared<Lazy>();
  std::call_once(mine->made, [&] { mine->list = list(); });
  lazy_ = std::move(mine);
  return lazy_->list;
}

ViewPublisher::ViewPublisher() : current_(std::make_shared<NodeView>()) {}

void ViewPublisher::Publish(NodeView view) {
  {
    const std::lock_guard lock(mutex_);
    view.version = current_->version + 1;
    current_ = std::make_shared<const NodeView>(std::move(view));
  }
  published_.notify_all();
}

std::shared_ptr<const NodeView> ViewPublisher::Current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::shared_ptr<const NodeView> ViewPublisher::WaitNewer(uint64_t version, Deadline deadline) const {
  std::unique_lock lock(mutex_);
  published_.wait_until(lock, deadline, [&] { return current_->version > version; });
  return current_;
}

}  // namespace rail::engine
