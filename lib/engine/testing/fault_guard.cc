#include "lib/engine/testing/fault_injector.h"

namespace rail::engine::testing {
namespace {

class Guard : public guard::Guard {
 public:
  Guard(FaultInjector& faults, guard::Guard& inner) : faults_(faults), inner_(inner) {}
  Status Close(const std::string& representor) override {
    RAIL_TRY(faults_.Call(Dependency::kGuard, "Close"));
    return inner_.Close(representor);
  }
  Status Allow(const std::string& representor, const guard::Allowed& allowed) override {
    RAIL_TRY(faults_.Call(Dependency::kGuard, "Allow"));
    return inner_.Allow(representor, allowed);
  }
  Result<bool> Holds(const std::string& representor, const guard::Allowed& allowed) override {
    RAIL_TRY(faults_.Call(Dependency::kGuard, "Holds"));
    return inner_.Holds(representor, allowed);
  }
  Result<guard::Refused> Count(const std::string& representor) override {
    RAIL_TRY(faults_.Call(Dependency::kGuard, "Count"));
    return inner_.Count(representor);
  }
  Result<size_t> Forget(const std::string& representor, Clock::duration idle) override {
    RAIL_TRY(faults_.Call(Dependency::kGuard, "Forget"));
    return inner_.Forget(representor, idle);
  }
  Status Open(const std::string& representor) override {
    RAIL_TRY(faults_.Call(Dependency::kGuard, "Open"));
    return inner_.Open(representor);
  }
  Result<std::vector<std::string>> RemoveAll() override {
    RAIL_TRY(faults_.Call(Dependency::kGuard, "RemoveAll"));
    return inner_.RemoveAll();
  }

 private:
  FaultInjector& faults_;
  guard::Guard& inner_;
};

}  // namespace

std::unique_ptr<guard::Guard> WithFaults(FaultInjector& faults, guard::Guard& inner) {
  return std::make_unique<Guard>(faults, inner);
}

}  // namespace rail::engine::testing
