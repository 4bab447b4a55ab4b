#include "lib/base/error.h"

#include <cerrno>
#include <cstring>

namespace rail {

Code CodeOfErrno(int err) {
  switch (err) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH: return Code::kNotFound;
    case EEXIST: return Code::kExists;
    case EBUSY: return Code::kBusy;
    case EPERM:
    case EACCES:
    case EROFS: return Code::kPermission;
    case EINVAL:
    case ERANGE:
    case ENAMETOOLONG:
    case EADDRNOTAVAIL:
    case ENETDOWN:
    case ENETUNREACH: return Code::kInvalid;
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
    case ENOSYS:
    case EPROTONOSUPPORT: return Code::kUnsupported;
    case EAGAIN:
    case EINTR:
    case ETIMEDOUT:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ENOBUFS:
    case ENOSPC: return Code::kTransient;
    default: return Code::kInternal;
  }
}

Error ErrnoError(int err, std::string_view what) {
  char buffer[128];
  const char* text = strerror_r(err, buffer, sizeof buffer);  // the GNU one: may return a static string
  return Error{CodeOfErrno(err), std::string(what) + ": " + text, err};
}

Error Wrap(Error error, std::string_view doing) {
  error.message.insert(0, ": ").insert(0, doing);
  return error;
}

}  // namespace rail
