// The return type of every function of ours that can fail: a value, or an Error that a person can act on.
//
// Use:      Result<Link> GetLink(std::string_view name);
//           RAIL_ASSIGN(Link link, netlink.GetLink("vf0"));      // returns the error to our caller
//           RAIL_TRY(netlink.SetMtu(link.index, 4200));
//           return Wrap(error, "attach vf0 to rail0");           // one clause for each boundary
// Threads:  values; no shared state
// Source:   DECISIONS.md 2 (why tl::expected; why Result wraps it: tl::expected is not [[nodiscard]] as a type)
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace rail {

// What the caller can do about it. Tests match the code, people read the message.
enum class Code {
  kInvalid,      // fix the configuration or the arguments
  kNotFound,     // it is not there (in DEL: nothing to do)
  kExists,       // it exists already, or belongs to someone else
  kBusy,         // held by another for now: try again
  kTransient,    // a dependency is down or slow: try again
  kUnsupported,  // needs another kernel, NIC, driver or version
  kPermission,   // needs more rights
  kDamaged,      // what is stored is not what was written: bring back a copy, or begin anew
  kInternal,     // report a bug
};

struct Error {
  Code code = Code::kInternal;
  std::string
      message;  // a clause or sentence without a full stop: "connect to /run/frr/bgpd.vty: no such file"
  int sys_errno = 0;  // errno when the kernel refused, else 0
};

// A value of T, or an Error.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

inline tl::unexpected<Error> Fail(Code code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message), 0});
}

// The Error of errno `err`: its message is "<what>: <strerror>", its code follows from errno (ENOENT -> kNotFound,
// EPERM -> kPermission, ETIMEDOUT/ECONNREFUSED/EAGAIN -> kTransient, EEXIST -> kExists, EBUSY -> kBusy,
// EINVAL/ERANGE -> kInvalid, EOPNOTSUPP -> kUnsupported, and their like; what is in none of these groups is kInternal).
Code CodeOfErrno(int err);
Error ErrnoError(int err, std::string_view what);
inline tl::unexpected<Error> FailErrno(int err, std::string_view what) {
  return tl::make_unexpected(ErrnoError(err, what));
}

// "<doing>: <message>"; code and errno stay.
Error Wrap(Error error, std::string_view doing);
inline tl::unexpected<Error> FailWrapped(Error error, std::string_view doing) {
  return tl::make_unexpected(Wrap(std::move(error), doing));
}

}  // namespace rail

#define RAIL_CONCAT_(a, b) a##b
#define RAIL_CONCAT(a, b) RAIL_CONCAT_(a, b)
// Makes a new name at each use, so that the argument of RAIL_TRY may hold a lambda that uses RAIL_TRY itself.
#define RAIL_UNIQUE(name) RAIL_CONCAT(name, __COUNTER__)

// If `expr` (a Status or Result) is an error, returns that error from the enclosing function.
#define RAIL_TRY(expr) RAIL_TRY_(RAIL_UNIQUE(rail_status_), expr)
#define RAIL_TRY_(status, expr)                                \
  do {                                                         \
    if (auto status = (expr); !status) {                       \
      return ::tl::make_unexpected(std::move(status).error()); \
    }                                                          \
  } while (false)

// Like RAIL_TRY, with the clause `doing` in front of the message.
#define RAIL_TRY_AS(expr, doing) RAIL_TRY_AS_(RAIL_UNIQUE(rail_status_), expr, doing)
#define RAIL_TRY_AS_(status, expr, doing)                             \
  do {                                                                \
    if (auto status = (expr); !status) {                              \
      return ::rail::FailWrapped(std::move(status).error(), (doing)); \
    }                                                                 \
  } while (false)

// Assigns the value of `expr` to `lhs` (a variable, or its declaration), or returns the error.
#define RAIL_ASSIGN(lhs, expr) RAIL_ASSIGN_(RAIL_UNIQUE(rail_result_), lhs, expr)
#define RAIL_ASSIGN_(result, lhs, expr)                                 \
  auto result = (expr);                                                 \
  if (!result) return ::tl::make_unexpected(std::move(result).error()); \
  lhs = std::move(*result)

#define RAIL_ASSIGN_AS(lhs, expr, doing) RAIL_ASSIGN_AS_(RAIL_UNIQUE(rail_result_), lhs, expr, doing)
#define RAIL_ASSIGN_AS_(result, lhs, expr, doing)                              \
  auto result = (expr);                                                        \
  if (!result) return ::rail::FailWrapped(std::move(result).error(), (doing)); \
  lhs = std::move(*result)
