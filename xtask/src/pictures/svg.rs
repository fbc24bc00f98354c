//! A small writer of SVG: shapes with classes, whose colours follow the reader's light or dark mode.

use std::fmt::Write;

/// Colours by class, for both modes.
const STYLE: &str = "\
svg{--ink:#1f2328;--soft:#59636e;--line:#59636e;--engine:#eef4fb;--stage:#ffffff;--edge:#6f8fb3;--plain:#f3f3f3}
svg{--mark:#0b62c4;--wave:#1a7f37}
@media(prefers-color-scheme:dark){
svg{--ink:#e6edf3;--soft:#9da7b1;--line:#8b949e;--engine:#152232;--stage:#0d1117;--edge:#4d7199;--plain:#22272e}
svg{--mark:#6cb0ff;--wave:#3fb950}
}
text{fill:var(--ink);font:13px system-ui,-apple-system,\"Segoe UI\",Helvetica,Arial,sans-serif}
.name{font:600 14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.code{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.soft{fill:var(--soft)}
.mark{fill:var(--mark)}
.engine{fill:var(--engine);stroke:var(--edge)}
.stage{fill:var(--stage);stroke:var(--edge)}
.plain{fill:var(--plain);stroke:var(--line)}
.flow{fill:none;stroke:var(--line);stroke-width:1.5}
.head{fill:var(--line)}
.grid{stroke:var(--line);stroke-width:.5;stroke-dasharray:2 3;opacity:.6}
.guide{stroke:var(--mark);stroke-width:1}
.wave{fill:none;stroke:var(--wave);stroke-width:1.5}
.bus{fill:var(--stage);stroke:var(--wave);stroke-width:1.2}
";

/// A picture that is being drawn.
pub struct Svg {
    body: String,
    width: f64,
    height: f64,
    title: String,
}

/// Where a text stands about its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        Self { body: String::new(), width, height, title: title.into() }
    }

    pub fn rectangle(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let _ =
            writeln!(self.body, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>"#);
    }

    pub fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{}</text>"#,
            escape(text)
        );
    }

    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let data: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let _ = writeln!(self.body, r#"<polyline class="{class}" points="{}"/>"#, data.join(" "));
    }

    pub fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        let data: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let _ = writeln!(self.body, r#"<polygon class="{class}" points="{}"/>"#, data.join(" "));
    }

    pub fn finish(self) -> String {
        let Self { body, width, height, title } = self;
        let title = escape(&title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n{body}</svg>\n"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
