// What raild does besides running as the daemon: a flag each.
//
// Use:      return DoctorWithoutDaemon(wire::RealDeps(), paths, std::cout);                               // --doctor
//           RAIL_ASSIGN(std::string text, AttachmentsText(state::Sqlite::OpenAsItIs(paths.state_file)));  // --print-attachments
//           RAIL_ASSIGN(std::string json, ReadNodeObject(paths));                                         // --print-node-object
//           return Remove(wire::RealDeps(), config::Paths::FromEnvironment(), force);                     // --remove
//           return ResolveConfig(flags, find_uplink);                                                     // --resolve-config FILE ...
//           return CheckNode(flags.check_node, *netlink, paths.sysfs);                                    // --check-node FILE
// Threads:  one; NodeName any
// Source:   README.md of this folder ("Without a daemon", "Removal", "Configurations"), lib/config
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "cmd/raild/flags.h"
#include "lib/base/error.h"
#include "lib/config/cluster_file.h"
#include "lib/config/node_config.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/netlink/netlink.h"
#include "lib/state/store.h"

namespace rail::raild {

// Prints the findings as `railctl doctor` does, within 5 s. Tries each step of raild's start without changing anything: node.json, certificates, the
// record, the folders, the sockets, the ports. Of what only a raild that runs knows (sessions, rules, remotes) it says nothing.
// The exit status: 0 nothing is wrong, 1 something is, or this user may not look (only root may; a sentence on stderr).
int DoctorWithoutDaemon(engine::Deps deps, const config::Paths& paths, std::ostream& out);

// One line for each attachment of the record: "tenant-a/a1 net1 on rail0, vf0x0: ready". Empty when there is none, or when there is
// no record (kNotFound). Errors: all others of opening and reading it; a record that cannot be read is not an empty one.
Result<std::string> AttachmentsText(Result<std::unique_ptr<state::Store>> store);

// The name of this node in the cluster, from the environment. Errors: kInvalid NODE_NAME is not set, or cannot be a name.
Result<std::string> NodeName();

// Asks the API server of the cluster in whose pod this runs, or the one that node.json names if there is one already.
// Errors: of NodeName; there is no API server; it does not answer, or refuses.
Result<std::string> ReadNodeObject(const config::Paths& paths);

// The exit status.
inline constexpr int kRemoved = 0;  // nothing of RailCNI is on the node any more
inline constexpr int kRefused = 1;  // nothing was changed: pods live, raild runs, or node.json cannot be read
inline constexpr int kSomeIsLeft = 3;  // what is left is told, and can be tried again

// Says on stdout what it has done and what is left.
int Remove(engine::Deps deps, const config::Paths& paths, bool force);

// Logs it. The exit status: 1.
int Failed(const Error& error);

// Exit status of --resolve-config without --node-object, where the file cannot be resolved without the node's labels.
inline constexpr int kNeedsLabels = 3;

// Prints a node's plain file, or a line for each node. The exit status: 0 right, 1 wrong, kNeedsLabels.
int ResolveConfig(const Flags& flags, const config::FindUplink& find_uplink);

// Prints what is wrong on this node, a line each, as errors. The exit status: 0 nothing, 1 something.
int CheckNode(const std::string& file, netlink::Netlink& netlink, const std::string& sysfs);

}  // namespace rail::raild
