// How the page of a report looks: light and dark, on paper, and without colour, since each verdict has its symbol and word.
//
// Use:      out << "<style>" << kStyle << "</style>";
// Threads:  a constant
// Source:   WCAG 2.2, 1.4.3: text has a contrast of 4.5 or more in both schemes (accept_report_test computes it)
#pragma once

#include <string_view>

namespace rail::accept {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#1a1c1e;--soft:#56606b;--line:#c9d0d7;--link:#0a58a8;--head:#f0f3f6;
--fail:#b3261e;--on-fail:#fff;--unknown:#ffe08a;--on-unknown:#3d2e00;--pass:#d5f0dc;--on-pass:#0b3d1a}
@media(prefers-color-scheme:dark){:root{--page:#14171a;--text:#e4e7ea;--soft:#a5afb9;--line:#3b434b;--link:#8cc2ff;--head:#20262b;
--fail:#c0352b;--on-fail:#fff;--unknown:#5c4a00;--on-unknown:#ffe9a8;--pass:#123d1e;--on-pass:#c9f2d2}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:100rem;background:var(--page);color:var(--text);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.2rem;margin:0}h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.25rem 0;max-width:75rem}a{color:var(--link)}.soft{color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.v{display:inline-block;padding:0 .5em;border-radius:.25rem;font-weight:600;white-space:nowrap}
.f,.f a{background:var(--fail);color:var(--on-fail)}.u,.u a{background:var(--unknown);color:var(--on-unknown)}
.p,.m td{background:var(--pass);color:var(--on-pass)}
.m .f{background:var(--fail);color:var(--on-fail)}.m .u{background:var(--unknown);color:var(--on-unknown)}
.m .n{background:none;color:var(--soft)}
section{border:1px solid var(--line);border-left:.4rem solid var(--line);border-radius:.3rem;padding:.8rem 1rem;margin:1rem 0}
section.F{border-left-color:var(--fail)}section.U{border-left-color:var(--unknown)}section.P{border-left-color:var(--pass)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .5rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{background:var(--head);font-weight:600}
.wide{overflow:auto;max-height:85vh;max-width:100%}.wide:focus{outline:2px solid var(--link)}
.rails{display:flex;flex-wrap:wrap;gap:.2rem 2rem}.rails>details{max-width:100%}
.m{border-collapse:separate;border-spacing:1px;font-size:.8rem;margin:.25rem 0}
.m th,.m td{border:0;padding:.1rem .35rem;text-align:center;white-space:nowrap}
.m thead th{position:sticky;top:0;z-index:1}.m tbody th{position:sticky;left:0;text-align:right}
.m.big td{padding:0;min-width:1.1rem;line-height:1.2}.m.big thead th+th{writing-mode:vertical-rl;padding:.35rem 0}
.m tr:hover th{color:var(--link)}.m a{display:block;text-decoration:none;font-weight:700}
details{margin:.25rem 0}summary{cursor:pointer}details>dl,details>div{margin-left:1.1rem}
dl:target{outline:2px solid var(--link);outline-offset:.2rem}
@media print{body{padding:0;max-width:none;font-size:9pt}.wide{max-height:none;overflow:visible}.m.big{font-size:5pt}
.m thead th,.m tbody th{position:static}.v,.m td,th,section{print-color-adjust:exact;-webkit-print-color-adjust:exact}
tr,dl{break-inside:avoid}h2,h3,summary{break-after:avoid}details::details-content{content-visibility:visible;display:block}}
)";

}  // namespace rail::accept
