"""The report as HTML: one file, no scripts, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from kantor.studies.figure import Claim, Difference
from kantor.studies.setting import Setting

if TYPE_CHECKING:
    from kantor.studies.report import Section

__all__ = ["page"]

_CSS = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto; max-width: 1080px;
  padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.3rem; margin: 3rem 0 0.5rem; border-top: 1px solid #ccc; padding-top: 1.25rem; }
h3 { font-size: 1.05rem; margin: 1.25rem 0 0.4rem; }
nav { columns: 2; margin: 1rem 0; }
nav a { display: block; }
a { color: #005a8c; }
img { width: 100%; height: auto; margin: 0.5rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.6rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; }
td { overflow-wrap: break-word; }
.verdict { white-space: nowrap; font-weight: 600; width: 8.5rem; }
.yes { color: #00674a; }
.no { color: #a33c00; }
.claim { width: 38%; }
.note { color: #555; font-size: 0.92rem; }
summary { cursor: pointer; color: #005a8c; }
.differences { table-layout: fixed; }
.differences th:nth-child(1) { width: 24%; }
.differences th:nth-child(2) { width: 29%; }
.differences th:nth-child(3) { width: 31%; }
@media (max-width: 700px) {
  nav { columns: 1; }
  table, tbody, tr, td { display: block; width: auto; }
  thead { display: none; }
  tr { border-bottom: 1px solid #999; padding: 0.4rem 0; }
  td, .claim, .verdict { border: 0; padding: 0.15rem 0; width: auto; }
  .differences td:nth-child(1)::before { content: "Text: "; font-weight: 600; }
  .differences td:nth-child(2)::before { content: "Run: "; font-weight: 600; }
  .differences td:nth-child(3)::before { content: "Matters: "; font-weight: 600; }
}
@media print { h2 { break-before: page; } }
"""


def page(sections: list[Section], setting: Setting) -> str:
    """The whole page."""
    paper = [section for section in sections if section.figure.name.startswith("fig")]
    beyond = [section for section in sections if section not in paper]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>The evidence, figure by figure</title><style>{_CSS}</style></head><body>",
            _opening(paper, beyond, setting),
            _discrepancies(paper),
            *map(_section, paper),
            '<h2 id="beyond">Beyond the paper</h2>',
            "<p>What the paper leaves open, in the same form. Statements here are put to the numbers; they are not the "
            "paper's.</p>",
            *map(_section, beyond),
            "</body></html>\n",
        ]
    )


def _opening(paper: list[Section], beyond: list[Section], setting: Setting) -> str:
    claims = [claim for section in paper for claim in section.claims]
    held = sum(claim.holds for claim in claims)
    about = _about(setting, str(paper[0].provenance["version"]))
    links = "".join(f'<a href="#{section.figure.name}">{escape(_title(section))}</a>' for section in [*paper, *beyond])
    return f"""<h1>Wasserstein markets: the paper's evidence, figure by figure</h1>
<p>{escape(about)}</p>
<p>Of {len(claims)} statements of the paper about its figures, in our words, this run supports <strong>{held}</strong>
and does not support <strong>{len(claims) - held}</strong>. Every verdict is decided by the tables beside this page;
figures are shown as the published run made them, and as the text describes them where the two differ. Where that
changes a verdict, it is said.</p>
<nav><a href="#differences">Where the published run and the text differ</a>{links}</nav>"""


def _about(setting: Setting, version: str) -> str:
    """The setting in a sentence."""
    published = " This is the published setting." if setting.published else ""
    return f"kantor {version}, {setting.trials} trials of {setting.owners} owners, seed {setting.seed}.{published}"


def _title(section: Section) -> str:
    figure = section.figure
    return f"Figure {int(figure.name[3:])}: {figure.title}" if figure.name.startswith("fig") else figure.title


def _section(section: Section) -> str:
    figure = section.figure
    note = f'<p class="note">{escape(figure.note)}</p>' if figure.note else ""
    described = ""
    if section.described:
        described = (
            "<details><summary>The same as the text describes it</summary>"
            f'<img alt="{escape(figure.title)}, as described" src="{section.described}"></details>'
        )
    made = section.provenance
    return f"""<h2 id="{figure.name}">{escape(_title(section))}</h2>
<img alt="{escape(figure.title)}" src="{section.drawing}">
{note}{described}
{_claims(section)}
<p class="note">{figure.name}.csv, made {escape(str(made["made"]))} in {made["seconds"]:.1f} s.</p>"""


def _claims(section: Section) -> str:
    rows = (
        f'<tr><td class="claim">{escape(claim.said)}</td>{_verdict(claim.holds)}'
        f"<td>{escape(claim.evidence)}{_otherwise(section.otherwise.get(claim.said))}</td></tr>"
        for claim in section.claims
    )
    return _table("claims", ("Statement", "This run", "The numbers"), rows)


def _otherwise(claim: Claim | None) -> str:
    if claim is None:
        return ""
    verdict = "supported" if claim.holds else "not supported"
    return f'<br><span class="note">As described it is {verdict}: {escape(claim.evidence)}</span>'


def _verdict(holds: bool) -> str:
    name, said = ("yes", "supports it") if holds else ("no", "does not")
    return f'<td class="verdict {name}">{said}</td>'


def _discrepancies(paper: list[Section]) -> str:
    rows = (_difference(each) for section in paper for each in section.differences)
    headings = ("The text", "The published run", "How much that matters", "Where to see it")
    return f"""<h2 id="differences">Where the published run and the text differ</h2>
<p>Both are reproduced: the figures below show the run, and its other form can be opened under each.</p>
{_table("differences", headings, rows)}"""


def _difference(each: Difference) -> str:
    where, name = escape(each.where), each.where.split()[0].rstrip(",")
    linked = f'<a href="#{name}">{where}</a>' if name.startswith("fig") and name[3:].isdigit() else where
    cells = (escape(each.text), escape(each.run), escape(each.size), linked)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _table(kind: str, headings: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
