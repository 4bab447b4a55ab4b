#include "cmd/railctl/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cmd/railctl/completion.h"
#include "cmd/railctl/tree.h"

namespace rail::railctl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Parsed Parse(std::vector<std::string> arguments) {
  return ParseFlags(std::move(arguments), "/default.sock");
}

TEST(ParseFlags, TakesTheDefaultsWhereNothingIsSaid) {
  const Parsed parsed = Parse({"get", "rails"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->command, Command::kRails);
  EXPECT_EQ(parsed.flags->format, Format::kTable);
  EXPECT_EQ(parsed.flags->socket, "/default.sock");
}

TEST(ParseFlags, TakesGlobalOptionsBeforeAndAfterTheCommand) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--socket", "/s", "-o", "json", "get", "attachments", "-n", "ml", "--rail", "rail1"},
           {"get", "attachments", "--rail", "rail1", "-o", "json", "--socket", "/s", "--namespace", "ml"}}) {
    const Parsed parsed = Parse(arguments);
    ASSERT_TRUE(parsed.flags) << parsed.text;
    EXPECT_EQ(parsed.flags->command, Command::kAttachments);
    EXPECT_EQ(parsed.flags->format, Format::kJson);
    EXPECT_EQ(parsed.flags->socket, "/s");
    EXPECT_EQ(parsed.flags->pod_namespace, "ml");
    EXPECT_EQ(parsed.flags->rail, "rail1");
  }
}

TEST(ParseFlags, KnowsEveryCommand) {
  const std::vector<std::pair<std::vector<std::string>, Command>> cases = {
      {{"get", "remotes"}, Command::kRemotes},
      {{"get", "node"}, Command::kNode},
      {{"get", "tenants"}, Command::kTenants},
      {{"get", "topology"}, Command::kTopology},
      {{"get", "flows"}, Command::kFlows},
      {{"get", "counters"}, Command::kCounters},
      {{"top"}, Command::kTop},
      {{"bursts"}, Command::kBursts},
      {{"check"}, Command::kCheck},
      {{"doctor"}, Command::kDoctor},
      {{"trace", "a", "10.0.0.1"}, Command::kTrace},
      {{"health"}, Command::kHealth},
      {{"status"}, Command::kStatus},
      {{"describe", "attachment", "a"}, Command::kDescribeAttachment},
      {{"describe", "rail", "rail0"}, Command::kDescribeRail},
      {{"completion", "bash"}, Command::kCompletion},
      {{"version"}, Command::kVersion}};
  for (const auto& [arguments, command] : cases) {
    const Parsed parsed = Parse(arguments);
    ASSERT_TRUE(parsed.flags) << parsed.text;
    EXPECT_EQ(parsed.flags->command, command);
  }
}

TEST(ParseFlags, GivesUsageErrorsTheirOwnExitCode) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {}, {"get"}, {"get", "pods"}, {"describe", "node"}, {"--frob"}, {"-o", "yaml", "check"}}) {
    const Parsed parsed = Parse(arguments);
    EXPECT_FALSE(parsed.flags);
    EXPECT_EQ(parsed.exit_code, kUsage);
    EXPECT_THAT(parsed.text, StartsWith("railctl: "));
  }
}

TEST(ParseFlags, TakesAPodWithItsNamespace) {
  const Parsed parsed = Parse({"trace", "ns-a/train-0", "fd00::7", "--rail", "rail1", "--protocol", "tcp",
                               "--port", "22", "--as-address", "fd00::8", "--as-mac", "02:00:00:00:00:01"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->pod_namespace, "ns-a");
  EXPECT_EQ(parsed.flags->pod, "train-0");
  EXPECT_EQ(parsed.flags->destination, "fd00::7");
  EXPECT_EQ(parsed.flags->rail, "rail1");
  EXPECT_EQ(parsed.flags->protocol, "tcp");
  EXPECT_EQ(parsed.flags->port, 22U);
  EXPECT_EQ(parsed.flags->as_address, "fd00::8");
  EXPECT_EQ(parsed.flags->as_mac, "02:00:00:00:00:01");
  EXPECT_EQ(Parse({"check", "train-0", "-n", "ns-b"}).flags->pod_namespace, "ns-b");
}

TEST(ParseFlags, RefusesAQuestionThatCannotBeAsked) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"trace", "a"},
                                             {"trace", "a", "10.0.0"},
                                             {"trace", "a", "10.0.0.1", "--protocol", "arp"},
                                             {"trace", "a", "10.0.0.1", "--port", "65536"},
                                             {"trace", "a", "10.0.0.1", "--as-mac", "02"}}) {
    EXPECT_EQ(Parse(arguments).exit_code, kUsage) << arguments.back();
  }
}

TEST(ParseFlags, TakesAllOfTlsOrNone) {
  const std::vector<std::string> all = {"get", "rails",       "--server", "h:1",        "--ca-file",
                                        "ca",  "--cert-file", "c",        "--key-file", "k"};
  const Parsed parsed = Parse(all);
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->server, "h:1");
  EXPECT_EQ(parsed.flags->ca_file, "ca");
  for (size_t i = 2; i < all.size(); i += 2) {
    std::vector<std::string> some = all;
    some.erase(some.begin() + static_cast<ptrdiff_t>(i), some.begin() + static_cast<ptrdiff_t>(i) + 2);
    EXPECT_EQ(Parse(some).exit_code, kUsage) << "without " << all[i];
  }
}

TEST(ParseFlags, AsksAFabricOverASocketOrOverTcp) {
  const Parsed socket =
      Parse({"--fabric", "unix:/f.sock", "get", "rails", "--leaf", "leaf4", "--node", "n1"});
  ASSERT_TRUE(socket.flags) << socket.text;
  EXPECT_EQ(socket.flags->fabric, "unix:/f.sock");
  EXPECT_EQ(SocketOf(*socket.flags), "/f.sock");
  EXPECT_EQ(socket.flags->leaf + socket.flags->node, "leaf4n1");
  EXPECT_EQ(SocketOf(*Parse({"get", "rails"}).flags), "/default.sock");
  EXPECT_EQ(SocketOf(*Parse({"--fabric", "/f.sock", "doctor"}).flags), "/f.sock");

  EXPECT_THAT(Parse({"--fabric", "h:1", "doctor"}).text,
              HasSubstr("all of --ca-file, --cert-file and --key-file"));
  const Parsed tcp = Parse({"--fabric", "h:1", "--ca-file", "a", "--cert-file", "b", "--key-file", "c", "get",
                            "nodes", "--unit", "su1"});
  ASSERT_TRUE(tcp.flags) << tcp.text;
  EXPECT_EQ(SocketOf(*tcp.flags), "");
  EXPECT_EQ(tcp.flags->unit, "su1");
  EXPECT_THAT(Parse({"--fabric", "unix:/f", "--ca-file", "a", "doctor"}).text, HasSubstr("go with --server"));
}

TEST(ParseFlags, AsksAFabricWhatItAnswers) {
  const Parsed job = Parse({"--fabric", "unix:/f", "get", "job", "ml/train", "-w"});
  ASSERT_TRUE(job.flags) << job.text;
  EXPECT_EQ(job.flags->command, Command::kJob);
  EXPECT_EQ(job.flags->pod_namespace + job.flags->pod, "mltrain");
  EXPECT_TRUE(job.flags->watch);
  for (const auto& [arguments, why] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"get", "job", "ml/train"}, "--fabric says where"},
           {{"--fabric", "unix:/f", "get", "job", "train"}, "is not namespace/name"},
           {{"--fabric", "unix:/f", "get", "flows"}, "'get flows' is not asked of a fabric"},
           {{"--fabric", "unix:/f", "check"}, "'check' is not asked of a fabric"},
           {{"--fabric", "unix:/f", "get", "attachments", "--ifname", "net1"}, "--ifname is not asked"},
           {{"--fabric", "unix:/f", "doctor", "--all"}, "--all"},
           {{"--fabric", "unix:/f", "--socket", "/s", "doctor"}, "excludes"},
           {{"get", "rails", "--leaf", "leaf4"}, "go with --fabric"},
           {{"doctor", "--node", "n1"}, "go with --fabric"}}) {
    const Parsed parsed = Parse(arguments);
    EXPECT_FALSE(parsed.flags) << testing::PrintToString(arguments);
    EXPECT_THAT(parsed.text, HasSubstr(why));
  }
}

TEST(ParseFlags, TakesTheSingularForThePlural) {
  for (const auto& [one, many] :
       std::vector<std::pair<const char*, const char*>>{{"attachment", "attachments"},
                                                        {"rail", "rails"},
                                                        {"remote", "remotes"},
                                                        {"tenant", "tenants"},
                                                        {"flow", "flows"},
                                                        {"nodes", "node"}}) {
    const Parsed singular = Parse({"get", one});
    ASSERT_TRUE(singular.flags) << singular.text;
    EXPECT_EQ(singular.flags->command, Parse({"get", many}).flags->command) << one;
  }
}

TEST(ParseFlags, SelectsByPodRailAndTenantWhereThatMakesSense) {
  const Flags attachments =
      *Parse({"get", "attachment", "ml/a", "--ifname", "net1", "--rail", "rail1", "--tenant", "t"}).flags;
  EXPECT_EQ(attachments.pod_namespace + attachments.pod + attachments.ifname, "mlanet1");
  EXPECT_EQ(attachments.rail + attachments.tenant, "rail1t");
  EXPECT_EQ(Parse({"get", "rail", "rail1"}).flags->rail, "rail1");
  EXPECT_EQ(Parse({"get", "rails", "--rail", "rail1"}).flags->rail, "rail1");
  const Flags remotes = *Parse({"get", "remotes", "--rail", "rail1", "--tenant", "t"}).flags;
  EXPECT_EQ(remotes.rail + remotes.tenant, "rail1t");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"get", "tenants"}, {"get", "flows"}, {"check"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--tenant", "t"});
    ASSERT_TRUE(Parse(arguments).flags) << command.back();
    EXPECT_EQ(Parse(arguments).flags->tenant, "t");
  }
}

TEST(ParseFlags, TakesKubectlsWords) {
  const Flags flags = *Parse({"get", "rails", "-w", "-o", "wide", "--no-headers"}).flags;
  EXPECT_TRUE(flags.watch);
  EXPECT_EQ(flags.format, Format::kWide);
  EXPECT_FALSE(flags.headers);
  EXPECT_EQ(Parse({"get", "attachments", "-A"}).flags->pod_namespace, "") << "all namespaces, as without -A";
  EXPECT_TRUE(Parse({"version", "--client"}).flags->client_only);
}

TEST(ParseFlags, NamesTheCommandsThatExistWhenOneDoesNot) {
  EXPECT_EQ(Parse({"frob"}).text,
            "railctl: there is no command 'frob'; there are: status, get, describe, top, bursts, check, "
            "trace, doctor, libs, accept, health, version, completion\n");
  EXPECT_EQ(Parse({"-o", "json", "get", "pods", "-n", "ml"}).text,
            "railctl: there is no command 'get pods'; there are: attachments, rails, remotes, tenants, "
            "flows, counters, nics, gpus, node, topology, job\n");
  EXPECT_EQ(Parse({"--socket", "/s", "describe"}).text,
            "railctl: 'describe' needs one word more; there are: attachment, rail\n");
  EXPECT_THAT(Parse({}).text, StartsWith("railctl: a command is missing; there are: status, get,"));
}

TEST(ParseFlags, AcceptRunsByItselfAndHasCommandsOfItsOwn) {
  const Parsed run =
      Parse({"accept", "--stage", "s.json", "--only", "isolation,speed", "--quick", "-o", "json"});
  ASSERT_TRUE(run.flags) << run.text;
  EXPECT_EQ(run.flags->command, Command::kAccept);
  EXPECT_EQ(run.flags->only, (std::vector<std::string>{"isolation", "speed"}));
  EXPECT_TRUE(run.flags->quick);
  const Parsed diff = Parse({"accept", "diff", "old.json", "new.json"});
  ASSERT_TRUE(diff.flags) << diff.text;
  EXPECT_EQ(diff.flags->command, Command::kAcceptDiff);
  EXPECT_EQ(diff.flags->reports, (std::vector<std::string>{"old.json", "new.json"}));
  const Parsed agent = Parse({"accept", "agent", "--listen", "10.0.0.1:9500", "--ca-file", "a", "--cert-file",
                              "b", "--key-file", "c"});
  ASSERT_TRUE(agent.flags) << agent.text;
  EXPECT_EQ(agent.flags->command, Command::kAcceptAgent);
  EXPECT_EQ(agent.flags->ca_file, "a");
  EXPECT_EQ(agent.flags->server, "") << "no raild is asked";
  EXPECT_THAT(Parse({"accept"}).text, HasSubstr("--stage FILE"));
  EXPECT_THAT(Parse({"accept", "--stage", "s", "--kubernetes"}).text, HasSubstr("one of the two"));
  EXPECT_THAT(Parse({"accept", "--stage", "s", "--nodes", "a"}).text, HasSubstr("go with --kubernetes"));
  EXPECT_THAT(Parse({"accept", "--stage", "s", "--restarts", "91"}).text, HasSubstr("--restarts"));
  EXPECT_THAT(Parse({"accept", "--stage", "s", "--failure", "0"}).text, HasSubstr("--failure"));
  EXPECT_THAT(Parse({"accept", "--kubernetes", "--churn", "9"}).text, HasSubstr("--churn goes with --stage"));
  const Parsed made = Parse({"accept", "--stage", "s", "--failure", "120", "--churn", "9"});
  ASSERT_TRUE(made.flags) << made.text;
  EXPECT_EQ(made.flags->failure, 120U);
  EXPECT_EQ(made.flags->churn, 9U);
  EXPECT_THAT(Parse({"accept", "frob"}).text, HasSubstr("there are: show, diff, agent"));
  const Parsed pods = Parse({"accept", "--kubernetes", "--nodes", "a,b", "--networks", "x/y"});
  ASSERT_TRUE(pods.flags) << pods.text;
  EXPECT_EQ(pods.flags->nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(pods.flags->networks, std::vector<std::string>{"x/y"});
  const Parsed show = Parse({"accept", "show", "accept.log", "--page", "p.html"});
  ASSERT_TRUE(show.flags) << show.text;
  EXPECT_EQ(show.flags->command, Command::kAcceptShow);
  EXPECT_EQ(show.flags->page_file, "p.html");
  EXPECT_THAT(Parse({"accept", "diff", "old.json"}).text, HasSubstr("reports"));
  EXPECT_THAT(Parse({"accept", "diff", "a", "b", "--quick"}).text, HasSubstr("does not take '--quick'"));
}

TEST(ParseFlags, NamesTheFlagThatACommandDoesNotTake) {
  EXPECT_EQ(Parse({"trace", "a", "10.0.0.1", "-w"}).text,
            "railctl: 'railctl trace' does not take '-w'; `railctl trace --help` says what it takes\n");
  EXPECT_THAT(Parse({"get", "flows", "--watch"}).text,
              HasSubstr("'railctl get flows' does not take '--watch'"));
  EXPECT_THAT(Parse({"get", "node", "n1"}).text, HasSubstr("'railctl get node' does not take 'n1'"));
}

TEST(ParseFlags, RefusesFlagsThatContradictEachOther) {
  for (const std::vector<std::string>& arguments : {
           std::vector<std::string>{"get", "attachments", "-A", "-n", "ml"},
           {"get", "attachments", "team-a/train-0", "-n", "ml"},
           {"get", "rail", "rail0", "--rail", "rail1"},
           {"get", "rails", "--no-headers", "-o", "json"},
           {"doctor", "-o", "wide"},
           {"trace", "a", "10.0.0.1", "-o", "wide"},
           {"trace", "a", "10.0.0.1", "--protocol", "icmp", "--port", "7"},
           {"completion", "bash", "-o", "json"},
           {"get", "rails", "--socket", "/s", "--server", "h:1", "--ca-file", "a", "--cert-file", "b",
            "--key-file", "c"},
       }) {
    const Parsed parsed = Parse(arguments);
    EXPECT_FALSE(parsed.flags) << testing::PrintToString(arguments);
    EXPECT_EQ(parsed.exit_code, kUsage);
  }
  EXPECT_THAT(Parse({"get", "attachments", "team-a/train-0", "-n", "ml"}).text,
              HasSubstr("names the namespace team-a, and -n says ml"));
  EXPECT_TRUE(Parse({"get", "attachments", "ml/train-0", "-n", "ml"}).flags);
}

TEST(ParseFlags, NamesTheFormatItDoesNotKnow) {
  EXPECT_THAT(Parse({"-o", "yaml", "check"}).text,
              HasSubstr("\"yaml\" is none of table, wide, json and dot"));
  EXPECT_FALSE(Parse({"-o", "1", "check"}).flags);
  EXPECT_THAT(Parse({"-o", "dot", "get", "rails"}).text, HasSubstr("-o dot is for `railctl get topology`"));
}

TEST(ParseFlags, ShowsHelpOnStdout) {
  const Parsed parsed = Parse({"get", "--help"});
  EXPECT_FALSE(parsed.flags);
  EXPECT_EQ(parsed.exit_code, kDone);
  EXPECT_THAT(parsed.text, HasSubstr("attachments"));
  EXPECT_THAT(parsed.text, HasSubstr("Examples:"));
}

// What the shell is told of each command: itself, its words and its options.
TEST(Completion, KnowsEveryCommandAndOptionOfTheTree) {
  Flags flags;
  const auto tree = MakeTree(flags);
  const std::string bash = Completion(*tree, "bash");
  EXPECT_THAT(bash, HasSubstr("complete -F _railctl railctl"));
  EXPECT_THAT(bash, HasSubstr("' dot'")) << "a topology for Graphviz";
  EXPECT_THAT(Completion(*tree, "zsh"), StartsWith("#compdef railctl\n"));
  const auto look = [&](const CLI::App& app, const auto& again) -> void {
    EXPECT_THAT(bash, HasSubstr("\"" + PathOf(app) + "\")\n"));
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) EXPECT_THAT(bash, HasSubstr("--" + name + " "));
    }
    for (const CLI::App* each : CommandsOf(app)) again(*each, again);
  };
  look(*tree, look);
}

}  // namespace
}  // namespace rail::railctl
