//! The frame of every page, and text that is safe inside of it.

use super::told::Whoami;
use std::fmt::Write;

/// Text for HTML and SVG, in an element or in an attribute with quotes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters have no place on a page.
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Who looks at a page, and at which.
#[derive(Clone)]
pub(super) struct Viewer {
    who: Whoami,
    path: String,
}

impl Viewer {
    pub(super) fn new(who: Whoami, path: &str) -> Self {
        Self {
            who,
            path: path.to_owned(),
        }
    }

    pub(super) fn is_operator(&self) -> bool {
        self.who.role == "operator"
    }

    fn may_read_datasets(&self) -> bool {
        matches!(&*self.who.role, "operator" | "reader")
    }

    /// The page to begin with.
    pub(super) fn home(&self) -> &'static str {
        match &*self.who.role {
            "admin" => "/audit",
            "operator" | "reader" => "/datasets",
            _ => "/models",
        }
    }

    fn header(&self) -> String {
        let mut nav = String::new();
        let has_models = self.who.role != "admin";
        let has_audit = matches!(&*self.who.role, "operator" | "admin");
        for (is_shown, path, name) in [
            (self.may_read_datasets(), "/datasets", "Data sets"),
            (has_models, "/models", "Models"),
            (has_audit, "/audit", "Audit log"),
        ] {
            if is_shown {
                let here = if self.path.starts_with(path) {
                    " aria-current=\"page\""
                } else {
                    ""
                };
                let _ = write!(nav, "<a href=\"{path}\"{here}>{name}</a>");
            }
        }
        let tenant = self.who.tenant.as_deref().unwrap_or("this node");
        format!(
            "<header class=\"top\"><div class=\"bar\"><a class=\"brand\" href=\"/\">{MARK}\
             <span>Hushstream</span></a><nav aria-label=\"Pages\">{nav}</nav>\
             <form method=\"post\" action=\"/sign-out\" class=\"who\">\
             <span class=\"role role-{role}\"><span class=\"unseen\">signed in as </span>{role}\
             </span> <span class=\"tenant\">{}</span>\
             <button type=\"submit\">Sign out</button></form></div></header>",
            escape(tenant),
            role = escape(&self.who.role),
        )
    }
}

/// Waves that become quiet.
const MARK: &str = "<svg class=\"mark\" viewBox=\"0 0 32 20\" aria-hidden=\"true\">\
    <path d=\"M1 10c2-12 4-12 6 0s4 8 6 0 3-5 5 0 3 2.5 4.5 0 2.5-1 3.5 0h5\"/></svg>";

/// A page.
pub(super) struct Page {
    text: String,
}

impl Page {
    /// A page with this title, for somebody who is signed in or not.
    pub(super) fn new(title: &str, viewer: Option<&Viewer>) -> Self {
        let header = viewer.map_or_else(String::new, Viewer::header);
        let text = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{} · Hushstream</title>\
             <link rel=\"icon\" href=\"/assets/hush.svg\"><link rel=\"stylesheet\" \
             href=\"/assets/hush.css\">\
             <script type=\"module\" src=\"/assets/hush.js\"></script></head><body>\
             <a class=\"skip\" href=\"#main\">Skip to the page</a>{header}\
             <main id=\"main\" tabindex=\"-1\">\n",
            escape(title)
        );
        Self { text }
    }

    pub(super) fn push(&mut self, html: &str) {
        self.text.push_str(html);
    }

    pub(super) fn into_text(self) -> String {
        self.text + "</main></body></html>\n"
    }
}

/// Where a page is: links, and the last part.
pub(super) fn trail(links: &[(&str, &str)], here: &str) -> String {
    let mut html = String::from("<nav class=\"trail\" aria-label=\"Where this is\">");
    for (path, name) in links {
        let _ = write!(html, "<a href=\"{}\">{}</a> / ", escape(path), escape(name));
    }
    let _ = write!(
        html,
        "<span aria-current=\"page\">{}</span></nav>",
        escape(here)
    );
    html
}

/// A figure with what it is.
pub(super) fn tile(name: &str, value: &str, note: &str) -> String {
    format!(
        "<div class=\"tile\"><dt>{}</dt><dd>{}</dd><p>{}</p></div>",
        escape(name),
        escape(value),
        escape(note)
    )
}

/// A time as it is written in the API, for people: seconds are enough.
pub(super) fn time(at: &str) -> String {
    let shown = match (at.get(..10), at.get(11..19)) {
        (Some(day), Some(clock)) => format!("{day} {clock} UTC"),
        _ => at.to_owned(),
    };
    format!(
        "<time datetime=\"{}\">{}</time>",
        escape(at),
        escape(&shown)
    )
}

/// The state of a model.
pub(super) fn status(status: &str) -> String {
    let known = matches!(status, "learning" | "paused" | "finished" | "failed");
    let class = if known { status } else { "paused" };
    format!(
        "<span class=\"chip chip-{class}\" data-status>{}</span>",
        escape(status)
    )
}

/// The banner of noise from a seed.
pub(super) const SIMULATED: &str = "<p class=\"alarm\" role=\"note\"><b>SIMULATED.</b> The noise \
     came from a seed: this protects nobody.</p>";
