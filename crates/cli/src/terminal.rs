//! What is known about the terminal, if there is one.

use std::io::IsTerminal;

/// Width of tables where nobody says otherwise.
const DEFAULT_WIDTH: usize = 100;

#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    pub width: usize,
    /// Results go to a terminal that shows colours.
    pub color: bool,
    /// Results go to a terminal that shows blocks and bars.
    pub pictures: bool,
    /// Someone watches standard error.
    pub watched: bool,
}

impl Terminal {
    /// Asks the environment: `COLUMNS`, `NO_COLOR`, and whether standard output and error are terminals.
    pub fn detect() -> Terminal {
        let out_is_terminal = std::io::stdout().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns.or_else(|| if out_is_terminal { measured() } else { None });
        Terminal {
            width: width.filter(|width| *width >= 20).unwrap_or(DEFAULT_WIDTH),
            color: out_is_terminal && !no_color,
            pictures: out_is_terminal && shows_unicode(),
            watched: std::io::stderr().is_terminal(),
        }
    }

    /// No terminal at all: a pipe, a file, a test.
    pub fn none() -> Terminal {
        Terminal { width: DEFAULT_WIDTH, color: false, pictures: false, watched: false }
    }
}

/// Whether the locale has more characters than ASCII; systems without locales of this kind have.
fn shows_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let is_unicode = |locale: String| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    locale.map_or(cfg!(any(windows, target_os = "macos")), is_unicode)
}
