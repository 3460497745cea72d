//! Light, dark or as the system has it, for all pages of the dashboard alike. The choice stays in the browser.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("theme.css");
const SCRIPT: &str = include_str!("theme.js");

/// The end of the bar: it comes before anything is painted below it.
pub(crate) fn switch() -> String {
    format!(
        "<select id=\"theme\" aria-label=\"Theme\" hidden><option value=\"auto\">auto</option><option>light</option>\
         <option>dark</option></select></nav><style>{STYLE}</style><script>{SCRIPT}</script>"
    )
}

/// The page with a policy that lets the script of the switch run, and no other more.
pub(crate) fn allowed(page: &[u8]) -> Vec<u8> {
    const SCRIPTS: &[u8] = b"script-src ";
    let Some(at) = page.windows(SCRIPTS.len()).position(|window| window == SCRIPTS) else {
        return page.to_vec();
    };
    let at = at + SCRIPTS.len();
    let hash = format!("'sha256-{}' ", BASE64.encode(Sha256::digest(SCRIPT)));
    [&page[..at], hash.as_bytes(), &page[at..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_script_and_stays_as_strict() {
        let page =
            b"<meta content=\"default-src 'none'; script-src 'sha256-x'; style-src\"><script>script-src ";
        let allowed = String::from_utf8(allowed(page)).unwrap();
        assert!(
            allowed.contains("default-src 'none'; script-src 'sha256-")
                && allowed.contains("' 'sha256-x'; style")
        );
        assert_eq!(allowed.matches("sha256-").count(), 2, "only in the policy");
        assert!(switch().contains(SCRIPT));
    }

    #[test]
    fn the_colours_are_those_of_all_pages() {
        let look = include_str!("../../report/src/look.css").replace('\n', "");
        for theme in ["light", "dark"] {
            let rule =
                STYLE.split(&format!(":root[data-theme={theme}]{{color-scheme:{theme};")).nth(1).unwrap();
            let rule = rule.split('}').next().unwrap();
            assert!(look.contains(rule), "{theme}: {rule}");
        }
    }
}
