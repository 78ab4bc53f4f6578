//! What all pages share: one style for light and dark, no scripts, no requests.

use crate::chart::escape;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--ink:#1c2330;--soft:#5b6575;--line:#d9dde4;\
--up:#c2560a;--down:#0b66b0;--band:#0b66b033;--mark:#0b66b0;--good:#0a7d5a;--warn:#fff3cd;--warnink:#5c4400;\
--alarm:#c0182b}\
@media (prefers-color-scheme:dark){:root{--paper:#12161d;--card:#1b212b;--ink:#e8ebf0;--soft:#a0aab8;\
--line:#333c49;--up:#ff9a4d;--down:#62b4ff;--band:#62b4ff3d;--mark:#62b4ff;--good:#4fd1a5;--warn:#3d3213;\
--warnink:#ffe7a3;--alarm:#ff5a67}}\
*{box-sizing:border-box}body{font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;max-width:76rem;\
margin:0 auto;padding:1.5rem 1rem 4rem;color:var(--ink);background:var(--paper)}\
h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0 .4rem;overflow-wrap:anywhere}\
h2{font-size:1.15rem;margin:2.4rem 0 .5rem}h3{font-size:1rem;margin:0 0 .1rem;overflow-wrap:anywhere}\
p{margin:.4rem 0;max-width:48rem}.lead{font-size:1.1rem}.soft,.note{color:var(--soft)}.note{font-size:.88rem}\
code,pre{font:.85rem/1.45 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere;white-space:pre-wrap}\
pre{background:var(--card);padding:.7rem .9rem;border-radius:.5rem;margin:.5rem 0}\
.warning{background:var(--warn);color:var(--warnink);padding:.6rem 1rem;border-radius:.5rem;max-width:none}\
.simulated{background:var(--alarm);color:#fff;padding:.6rem 1rem;border-radius:.5rem;font-weight:600;max-width:none}\
.card{border-left:4px solid var(--good);background:var(--card);border-radius:.5rem;padding:.7rem 1.1rem}\
.card p{max-width:none}.card details{margin:.3rem 0}.card summary{font-weight:400;color:var(--soft);font-size:.9rem}.grid{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr))}\
.panel{background:var(--card);border-radius:.6rem;padding:.8rem .9rem;min-width:0}\
.wide{grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr))}\
.column{display:grid;gap:1rem;max-width:56rem}.column svg{max-height:30rem}.square svg{max-width:26rem}\
.tiles{display:flex;flex-wrap:wrap;gap:1rem;margin:1rem 0}\
.tile{flex:1 1 11rem;background:var(--card);border-radius:.6rem;padding:.7rem 1rem}\
.tile b{display:block;font-size:2rem;line-height:1.2;font-weight:650;font-variant-numeric:tabular-nums}\
.tile span{color:var(--soft);font-size:.9rem}\
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0;font-size:.93rem}\
td,th{padding:.25rem 1.2rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top;\
overflow-wrap:anywhere}th{font-weight:600;color:var(--soft)}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
.rows{width:100%;max-width:48rem}.rows td:first-child{color:var(--soft);width:55%}\
.rows td:last-child{font-variant-numeric:tabular-nums}\
details{margin:1rem 0}summary{cursor:pointer;font-weight:600}\
svg{display:block;width:100%;height:auto;font-family:inherit}svg .paper{fill:transparent}svg .ink{fill:var(--ink)}\
svg .soft{fill:var(--soft)}svg .rule{stroke:var(--line)}svg .zero{stroke:var(--soft)}\
svg .band{fill:var(--band);stroke:none}svg .curve{stroke:var(--mark);fill:none}\
svg .up{fill:var(--up)}svg .down{fill:var(--down)}svg .whisker{stroke:var(--ink)}\
svg .s0{stroke:var(--mark)}svg .t0{fill:var(--mark)}";

/// The start of a page.
pub(crate) fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{}</title><style>{STYLE}</style></head><body>\n",
        escape(title)
    )
}

/// The start of a part of somebody else's page: the same style, for this part alone.
pub(crate) fn part() -> String {
    let own = STYLE.replace(":root{", "&{").replace("body{", "&{");
    format!("<div class=\"hushstream\"><style>.hushstream{{{own}}}</style>")
}

/// The end of a page, with the object that its figures are from.
pub(crate) fn foot(id: &str, object: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(object).unwrap_or_default();
    // A closing tag inside the data would end the element.
    format!(
        "<script type=\"application/json\" id=\"{id}\">{}</script>\n</body></html>\n",
        text.replace("</", "<\\/")
    )
}

/// The banner of noise from a seed.
pub(crate) fn simulated(page: &mut String) {
    page.push_str(
        "<p class=\"simulated\">SIMULATED: the noise came from a seed. This model protects \
         nobody.</p>\n",
    );
}

/// The guarantee: its sentences, and the small print.
pub(crate) fn guarantee(page: &mut String, words: &str) {
    page.push_str("<div class=\"card\">");
    for line in words.lines() {
        let _ = if line.starts_with('(') {
            write!(
                page,
                "<details><summary>mechanism and assumptions</summary><p class=\"note\">{}</p>\
                 </details>",
                escape(line)
            )
        } else {
            write!(page, "<p>{}</p>", escape(line))
        };
    }
    page.push_str("</div>\n");
}

/// Where a page comes from.
pub struct Origin<'a> {
    /// The command that made it, if a command did.
    pub command: Option<&'a str>,
    /// The file that it is about.
    pub file: Option<&'a str>,
    /// The version of Hushstream.
    pub version: &'a str,
}

impl Origin<'_> {
    pub(crate) fn tell(&self, page: &mut String) {
        page.push_str("<h2>Where this comes from</h2>\n<p>");
        if let Some(file) = self.file {
            let _ = write!(page, "<b>{}</b>, ", escape(file));
        }
        let _ = writeln!(page, "Hushstream {}.</p>", escape(self.version));
        if let Some(command) = self.command {
            let _ = writeln!(page, "<pre>{}</pre>", escape(command));
        }
    }
}
