// `raild --doctor`: what is wrong with a node whose raild does not answer, and what keeps raild from starting.
//
// Use:      return DoctorWithoutDaemon(wire::RealDeps(), paths, std::cout);
// Threads:  one; takes up to 5 s, as `railctl doctor` does
// Source:   README.md of this folder ("Without a daemon")
#pragma once

#include <ostream>

#include "lib/config/node_config.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::raild {

// Prints the findings as `railctl doctor` does. Tries each step of raild's start without changing anything: node.json, certificates, the
// record, the folders, the sockets, the ports. Of what only a raild that runs knows (sessions, rules, remotes) it says nothing.
// The exit status: 0 nothing is wrong, 1 something is, or this user may not look (only root may; a sentence on stderr).
int DoctorWithoutDaemon(engine::Deps deps, const config::Paths& paths, std::ostream& out);

}  // namespace rail::raild
