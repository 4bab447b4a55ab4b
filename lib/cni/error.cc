#include "lib/cni/error.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"

namespace rail::cni {
namespace {

unsigned CniCodeOf(Code code) {
  switch (code) {
    case Code::kInvalid: return 7;
    case Code::kBusy:
    case Code::kTransient: return kTryAgain;
    case Code::kNotFound: return 101;
    case Code::kExists: return 102;
    case Code::kUnsupported: return 103;
    case Code::kPermission: return 104;
    case Code::kDamaged:
    case Code::kInternal: return kFault;
  }
  return kFault;
}

}  // namespace

CniError::CniError(const Error& error) : code(CniCodeOf(error.code)), msg(error.message) {}

std::string PrintError(const CniError& error, const std::string& cni_version) {
  nlohmann::json document = {{"cniVersion", cni_version}, {"code", error.code}, {"msg", error.msg}};
  if (!error.details.empty()) document["details"] = error.details;
  return DumpJson(document);
}

}  // namespace rail::cni
