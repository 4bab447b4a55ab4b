#include "cmd/railctl/accept/page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "cmd/railctl/accept/page_style.h"
#include "cmd/railctl/accept/testing/sample.h"

namespace rail::accept {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Report = v1::AcceptReport;

constexpr size_t kMost = 5'000'000;  // bytes of a page of 64 nodes with 8 rails

std::vector<std::string> All(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), regex); match != std::sregex_iterator();
       ++match)
    found.push_back((*match)[1]);
  return found;
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The section of a check.
std::string Section(const std::string& page, const std::string& id) {
  const size_t title = page.find("</span> " + id + "</h2>");
  const size_t begin = page.rfind("<section", title);
  return title == std::string::npos ? "" : page.substr(begin, page.find("</section>", begin) - begin);
}

TEST(AsPage, HasWhatFailedFirst) {
  const std::string page = AsPage(Sample());
  const std::vector<std::string> order = {"isolation.forged-source",
                                          "isolation.&lt;b&gt;&quot;names&quot;&amp;", "offload.in-hardware",
                                          "configuration.mtu", "speed.bandwidth"};
  EXPECT_EQ(All(page, "<h2 id=h[0-9]+><span[^>]*>[^<]*</span> ([^<]*)</h2>"), order);
  EXPECT_EQ(All(page, "<th scope=row><a href=\"#c[0-9]+\">([^<]*)</a>"), order) << "the summary";
  EXPECT_THAT(page, HasSubstr("<h1><span class=\"v f\">✗ fail</span> railctl accept: something failed</h1>"));
  EXPECT_THAT(page, AllOf(HasSubstr("<dd>2 failed, 1 could not be measured, 2 passed"),
                          HasSubstr("<dd>3 min 12 s"), HasSubstr("<dd>2026-03-01T03:00:00Z"),
                          HasSubstr("<dd>6.1.0-21 on 3 nodes, 6.1.0-22 on 1 node")));
}

TEST(AsPage, ForbidsItselfEveryRequestAndAsksForNone) {
  const std::string page = AsPage(Sample());
  EXPECT_THAT(page, HasSubstr("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                              "style-src 'unsafe-inline';"));
  for (const std::string& target : All(page, "<[^>]* (?:href|src|action|data)=\"?([^\" >]*)"))
    EXPECT_TRUE(target.starts_with('#')) << target;
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<link")), Not(HasSubstr("url(")),
                          Not(HasSubstr("@import"))));
}

TEST(AsPage, TakesNamesForText) {
  const std::string page = AsPage(Sample());
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("a &lt;/dl&gt;&lt;img src=&quot;http://192.0.2.1/x&quot;&gt; in  [31m words "),
            Not(HasSubstr("<img")), Not(HasSubstr("<b>")), Not(HasSubstr("<i>")), Not(HasSubstr("<!--"))));
  EXPECT_EQ(CountOf(page, "<style>"), 1U);
  EXPECT_TRUE(std::ranges::none_of(page, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }));
}

TEST(AsPage, HasATableForEachRailWithACellForEachPair) {
  const std::string section = Section(AsPage(Sample()), "isolation.forged-source");
  EXPECT_THAT(All(section, "<summary>([^<]*passed)</summary>\n<div class=wide"),
              ElementsAre("✗ rail0: 2 failed, 0 could not be measured, 10 passed",
                          "✓ rail1: 0 failed, 0 could not be measured, 12 passed"));
  EXPECT_THAT(section, HasSubstr("All names begin with railcni-accept/accept-gpu-"));
  EXPECT_THAT(section, HasSubstr("<th scope=col title=\"railcni-accept/accept-gpu-1\">1<"));
  EXPECT_THAT(
      section,
      HasSubstr("<tr><th scope=row title=\"railcni-accept/accept-gpu-2\">2<td class=f><a href=\"#e0-0\" "
                "title=\"2→1\">✗</a>"
                "<td class=n>–<td class=f><a href=\"#e0-1\" title=\"2→3\">✗</a><td title=\"2→4\">✓\n"));
}

TEST(AsPage, HasFiguresInCellsAndTheirEnds) {
  const std::string section = Section(AsPage(Sample()), "speed.bandwidth");
  EXPECT_THAT(section, HasSubstr("<td title=\"1→2: 385 Gb/s\">✓ 385 Gb/s"));
  EXPECT_THAT(
      section,
      HasSubstr("<tr><th scope=row>rail0<td>12<td>384 Gb/s <span class=soft>railcni-accept/accept-gpu-2 → "
                "railcni-accept/accept-gpu-1</span><td>387.5 Gb/s<td>391 Gb/s"));
}

TEST(AsPage, ACellOfSeveralAttemptsShowsTheWorstAndAllFigures) {
  Report report;
  auto& check = AddCheck(report, "speed.it", Report::FAIL, "");
  for (const double value : {3.0, 9.0, 2.0}) {
    auto& attempt = AddAttempt(check, value > 5 ? Report::FAIL : Report::PASS, "rail0", "ml/a", "ml/b");
    attempt.set_unit("us");
    attempt.set_value(value);
  }
  EXPECT_THAT(AsPage(report),
              HasSubstr("<td class=f><a href=\"#e0-0\" title=\"a→b: 3 us, 9 us, 2 us\">✗ 9 us</a>"));
}

TEST(AsPage, EveryLinkLeadsToEvidenceWithAllThatItHas) {
  const std::string page = AsPage(Sample());
  const std::vector<std::string> ids = All(page, " id=\"?([a-z0-9-]+)");
  for (const std::string& link : All(page, "href=\"#([^\"]*)\""))
    EXPECT_EQ(std::ranges::count(ids, link), 1) << link;
  EXPECT_THAT(page, HasSubstr("<dl id=e0-1><dt>did<dd>ran ib_write_bw -d mlx5_2 -x 3 -s 1048576 -D 5 "
                              "--report_gbits from 10.0.1.4 to 10.0.2.9\n"
                              "<dt>control<dd>20 of 20 datagrams with the pod&#39;s own source arrived "
                              "before, 20 of 20 after\n<dt>seen<dd>vport 3"));
  EXPECT_THAT(Section(page, "configuration.mtu"), HasSubstr("gpu-4<dl><dt>did<dd>read the MTU"))
      << "few that passed have it whole";
}

TEST(AsPage, ClosesWhatItOpens) {
  const std::string page = AsPage(Sample());
  for (const std::string tag : {"section", "details", "summary", "table", "div", "dl", "span", "a", "h2",
                                "h3", "main", "header", "p"}) {
    EXPECT_EQ(All(page, "<(" + tag + ")[ >]").size(), CountOf(page, "</" + tag + ">")) << tag;
    EXPECT_GT(CountOf(page, "</" + tag + ">"), 0U) << tag;
  }
}

TEST(AsPage, OfManyNodesIsSmallAndHasTheEvidenceOfEachFailure) {
  const Report report = Mesh(64, 8);
  const std::string page = AsPage(report);
  RecordProperty("bytes", std::to_string(page.size()));
  EXPECT_LT(page.size(), kMost);
  size_t failed = 0;
  for (const auto& check : report.checks())
    failed +=
        static_cast<size_t>(std::ranges::count(check.attempts(), Report::FAIL, &Report::Attempt::verdict));
  EXPECT_GT(failed, 400U);
  EXPECT_EQ(CountOf(page, "<dl id=e"), failed);
  EXPECT_EQ(CountOf(page, "<td class=f><a href"), failed);
  EXPECT_EQ(CountOf(page, "<td"), 3U * 8 * 64 * 64 + 2U * 8 * 4 + 64U * 2 + 3U * 4)
      << "cells of matrices, figures, nodes, checks";
  EXPECT_EQ(
      CountOf(page, "<summary>✓ 32256 attempts passed; the evidence of the first of each rail</summary>"),
      1U);
  EXPECT_EQ(CountOf(page, "<dl><dt>did"), 3U * 8) << "of what passed: once for each check and rail";
}

TEST(AsPage, IsBoundedWhenEverythingFailsAndSaysWhatItLeavesOut) {
  Report report = Mesh(64, 8);
  report.mutable_checks()->DeleteSubrange(1, 2);
  for (auto& attempt : *report.mutable_checks(0)->mutable_attempts()) attempt.set_verdict(Report::FAIL);
  const std::string page = AsPage(report);
  EXPECT_LT(page.size(), kMost);
  EXPECT_EQ(CountOf(page, "<td class=f"), 32256U);
  const size_t shown = CountOf(page, "<dl id=e");
  EXPECT_GT(shown, 2000U);
  EXPECT_THAT(page,
              HasSubstr(fmt::format("The evidence of {} more attempts that did not pass is not on this page",
                                    32256 - shown)));
}

TEST(AsPage, OfNothingSaysSo) {
  const std::string page = AsPage(Report());
  EXPECT_THAT(
      page,
      HasSubstr("<span class=\"v u\">? could-not-measure</span> railctl accept: nothing was checked</h1>"));
  EXPECT_THAT(All(page, "<(section)"), IsEmpty());
  Report report;
  AddCheck(report, "a.b", Report::PASS, "");
  EXPECT_THAT(Section(AsPage(report), "a.b"), HasSubstr("No attempt was made."));
}

double Luminance(const std::string& color) {
  const size_t digits = color.size() == 3 ? 1 : 2;
  double luminance = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (size_t i = 0; i < 3; ++i) {
    std::string part = color.substr(i * digits, digits);
    if (digits == 1) part += part;
    const double c = std::stoi(part, nullptr, 16) / 255.0;
    luminance += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return luminance;
}

TEST(Style, HasTheContrastOfWcagInBothSchemes) {
  const std::string style(kStyle);
  const std::vector<std::string> schemes = All(style, ":root\\{([^}]*)\\}");
  ASSERT_EQ(schemes.size(), 2U);
  for (const std::string& scheme : schemes) {
    const auto color = [&](const std::string& name) {
      return Luminance(All(scheme, "--" + name + ":#([0-9a-f]+)").at(0));
    };
    for (const auto& [on, text] : std::vector<std::pair<std::string, std::string>>{{"page", "text"},
                                                                                   {"page", "soft"},
                                                                                   {"page", "link"},
                                                                                   {"head", "text"},
                                                                                   {"head", "link"},
                                                                                   {"fail", "on-fail"},
                                                                                   {"unknown", "on-unknown"},
                                                                                   {"pass", "on-pass"}}) {
      const auto [dark, light] = std::minmax({color(on), color(text)});
      EXPECT_GE((light + 0.05) / (dark + 0.05), 4.5) << text << " on " << on << " in " << scheme;
    }
  }
}

}  // namespace
}  // namespace rail::accept
