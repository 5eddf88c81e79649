"""How pages look: light and dark, from a phone's width to a desk's, and on paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --quiet: #5d646b; --ground: #ffffff; --line: #d9dde1;
  --card: #f5f6f8; --accent: #14608a; --shade: #00000038; --blue: #14608a; --orange: #d1781f; --violet: #6a4fa3;
  --green: #1b7f5c; --red: #b3423a; --brown: #7a6a4f; --neutral: #c9ced3; --missing: #d4d8dc; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --quiet: #a2a9b0; --ground: #15181b; --line: #363c42; --card: #1e2226;
    --accent: #7cc0e8; --shade: #ffffff42; --blue: #4ba3d6; --orange: #e8994a; --violet: #a78fdc;
    --green: #3fae85; --red: #dd6d64; --brown: #b7a47f; --neutral: #565d64; --missing: #3a4046; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 52rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
section.verdict { border-left: 4px solid var(--accent); background: var(--card); padding: .2rem 1rem;
  border-radius: 0 6px 6px 0; font-size: 1.05rem; } section.verdict p { margin: .5rem 0; }
p.lead { color: var(--quiet); margin-top: 0; } a { color: var(--accent); }
a.term { color: inherit; text-decoration: underline dotted var(--quiet); text-underline-offset: .2em; }
a.term:hover, a.term:focus { color: var(--accent); } td[title], th[title] { cursor: help; }
th[title] { text-decoration: underline dotted var(--quiet); text-underline-offset: .2em; }
nav { font-size: .88rem; } nav ol { list-style: none; padding: 0; margin: .9rem 0 0; display: flex;
  flex-wrap: wrap; gap: .2rem 1.1rem; }
figure { margin: 1rem 0 1.8rem; } figure svg { display: block; width: 100%; height: auto; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; } figure svg text { fill: var(--ink); }
figcaption, p.caption { color: var(--quiet); font-size: .88rem; margin: .6rem 0 0; }
figure.text blockquote { margin: .4rem 0; padding: .6rem 1rem; background: var(--card); border-radius: 6px; }
.wide { overflow-x: auto; max-width: 100%;
  background: linear-gradient(to right, var(--ground) 40%, transparent) left / 2.4rem 100% no-repeat local,
    linear-gradient(to left, var(--ground) 40%, transparent) right / 2.4rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / .9rem 100% no-repeat scroll,
    linear-gradient(to left, var(--shade), transparent) right / .9rem 100% no-repeat scroll; }
.wide:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0; }
th, td { padding: .25rem .6rem; white-space: nowrap;
  border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { vertical-align: bottom; } th.wraps { white-space: normal; min-width: 6rem; }
td.long { white-space: normal; min-width: 11rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
dl.glossary { font-size: .92rem; } dl.glossary dt { font-weight: 600; margin-top: .6rem; }
dl.glossary dd { margin: 0; color: var(--quiet); } dt:target { color: var(--accent); }
pre { background: var(--card); padding: .7rem; overflow-x: auto; font-size: .8rem; border-radius: 6px; }
details { margin: .4rem 0; } summary { cursor: pointer; }
mark { background: #ffe08a; color: #1c1e21; } mark.other { background: #f3b7a8; }
@media (min-width: 56rem) { .table { width: max-content; max-width: calc(50vw + 24rem); } }
@media (max-width: 40rem) { th, td { padding: .25rem .4rem; } td.long { min-width: 9rem; } }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; } nav, figcaption a { display: none; }
  figure, tr, dt { break-inside: avoid; } h2, h3, p.caption, dt { break-after: avoid; }
  a { color: inherit; text-decoration: none; } a.term { text-decoration: none; }
  figure svg { min-width: 0 !important; max-width: 100% !important; }
  .wide { overflow: visible; background: none; max-width: 100%; width: auto; }
  table { font-size: 8pt; } th, td { white-space: normal; padding: .15rem .3rem; } td.long { min-width: 0; }
}
"""
