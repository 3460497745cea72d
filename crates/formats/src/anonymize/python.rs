//! Python frames, modules and annotations: what is public stays, what is somebody's own is replaced.

use gpuscope_trace::{ServingPhase, ServingStep};

use super::known::{ANNOTATIONS, CLASSES, FUNCTIONS, OPTIMIZERS, PACKAGES, STANDARD_LIBRARY, has};
use super::names::{Names, Sort};
use super::roles;
use super::vocabulary::Vocabulary;
use super::words::{Digits, Filter};

/// Names on their way, and what may stay of them.
pub(super) struct Python<'n> {
    pub(super) names: &'n mut Names,
    pub(super) vocabulary: &'n Vocabulary,
}

impl Python<'_> {
    fn public(&mut self, text: &str, digits: Digits) -> String {
        let public = |word: &str| self.vocabulary.is_public(word);
        Filter { public: &public, digits, whole: None, addresses: true }.apply(self.names, text)
    }

    /// Of code in public packages also what its functions and files are called stays.
    fn public_code(&mut self, text: &str) -> String {
        let public = |word: &str| self.vocabulary.is_of_public_code(word);
        Filter { public: &public, digits: Digits::Short, whole: None, addresses: true }
            .apply(self.names, text)
    }

    /// `path/file.py(12): function`, `nn.Module: Linear_3`, `<built-in method item of Tensor object at 0x7f>`.
    pub(super) fn frame(&mut self, text: &str) -> String {
        if let Some(module) = text.strip_prefix("nn.Module: ") {
            let (class, number) = match module.rsplit_once('_') {
                Some((class, number)) if is_digits(number) && number.len() <= 6 => (class, Some(number)),
                _ => (module, None),
            };
            let class = self.class(class);
            let number = number.map_or(String::new(), |number| format!("_{number}"));
            return format!("nn.Module: {class}{number}");
        }
        let Some((path, line, function)) = parts(text) else {
            if text.starts_with('<') {
                return self.public_code(text);
            }
            return roles::marked(self.names.of(Sort::Function, text), text);
        };
        let (path, public) = self.file(path);
        let function = match function {
            "<module>" | "<lambda>" | "<listcomp>" | "<genexpr>" | "<dictcomp>" | "<setcomp>" => {
                function.to_owned()
            }
            _ if public || is_dunder(function) => self.public_code(function),
            _ if has(&FUNCTIONS, function) => function.to_owned(),
            _ => roles::marked(self.names.of(Sort::Function, function), text),
        };
        format!("{path}({line}): {function}")
    }

    /// Frames of a call stack, one behind the other.
    pub(super) fn stack(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive([';', '\n']) {
            let end = piece.trim_end_matches([';', '\n']).len();
            let frame = piece[..end].trim_start();
            out.push_str(&piece[..end - frame.len()].replace(|c: char| !c.is_whitespace(), ""));
            if !frame.trim().is_empty() {
                out.push_str(&self.frame(frame));
            }
            out.push_str(&piece[end..]);
        }
        out
    }

    /// A path, and whether it is of public code: then only what stands before the package is left out.
    pub(super) fn file(&mut self, path: &str) -> (String, bool) {
        let installed =
            ["site-packages/", "dist-packages/"].iter().find_map(|folder| path.split_once(folder));
        let tail = match installed {
            Some((_, tail)) => tail,
            // Torch may have been built where it stands.
            None => below_python(path).or_else(|| below_torch(path)).unwrap_or(path),
        };
        let first = tail.split('/').next().unwrap_or(tail);
        let is_public = has(&PACKAGES, first)
            || has(&STANDARD_LIBRARY, first.strip_suffix(".py").unwrap_or(first))
            || tail.starts_with("<frozen ") && tail.ends_with('>')
            || tail == "<string>";
        if is_public {
            return (self.public_code(tail), true);
        }
        let new = self.names.of(Sort::File, path);
        let extension = path.rsplit_once('.').map(|(_, extension)| extension);
        let new = match extension.filter(|end| has(&EXTENSIONS, end)) {
            Some(extension) => format!("{new}.{extension}"),
            None => new,
        };
        (new, false)
    }

    fn class(&mut self, class: &str) -> String {
        if has(&CLASSES, class) { class.to_owned() } else { self.names.of(Sort::Module, class) }
    }

    /// `HOST_PID.TIME.pt.trace.json` keeps that it tells a host.
    pub(super) fn trace_name(&mut self, text: &str) -> String {
        let file = text.rsplit(['/', '\\']).next().unwrap_or(text);
        let host = file.split_once(".pt.trace.json").and_then(|(worker, _)| {
            let (worker, _) = worker.rsplit_once('.').filter(|(_, stamp)| is_digits(stamp))?;
            let (host, _) = worker.rsplit_once('_').filter(|(_, pid)| is_digits(pid))?;
            Some(host).filter(|host| !host.is_empty())
        });
        match host {
            // Of a worker, a rank or the like: no host.
            Some(other) if !is_host(other) => format!("rank_{}", self.names.of(Sort::File, other)),
            Some(host) => format!("{}_1.1.pt.trace.json", self.names.of(Sort::Host, host)),
            None => self.file(text).0,
        }
    }

    /// Somebody's annotation, or one that torch and its like write by themselves.
    pub(super) fn annotation(&mut self, text: &str) -> String {
        if text.strip_prefix("ProfilerStep#").is_some_and(is_digits) || roles::is_all(text) {
            return text.to_owned();
        }
        for prefix in ["Optimizer.step#", "Optimizer.zero_grad#"] {
            if let Some((class, method)) = text.strip_prefix(prefix).and_then(|rest| rest.rsplit_once('.')) {
                return format!("{prefix}{}.{}", self.optimizer(class), self.public(method, Digits::Short));
            }
        }
        if let Some(step) = ServingStep::parse(text) {
            let digits = if step.phase == ServingPhase::Other { Digits::Short } else { Digits::All };
            return self.public(text, digits);
        }
        if ANNOTATIONS.iter().any(|known| text.starts_with(known)) {
            return roles::marked(self.public(text, Digits::Short), text);
        }
        let new = self.names.of(Sort::Annotation, text);
        let new = match roles::first_word(text) {
            Some(first) => format!("{first}: {new}"),
            None => new,
        };
        roles::marked(new, text)
    }

    fn optimizer(&mut self, class: &str) -> String {
        if has(&OPTIMIZERS, class) {
            return class.to_owned();
        }
        // By this word an analysis knows what fusing would save.
        let like = if class.contains("Adam") { "Adam" } else { "" };
        format!("{}{like}", self.names.of(Sort::Class, class))
    }

    /// A host event of JAX.
    pub(super) fn jitted(&mut self, text: &str) -> String {
        if let Some((place, function)) = text.strip_prefix('$').and_then(|rest| rest.split_once(' ')) {
            let (path, line) =
                place.rsplit_once(':').filter(|(_, line)| is_digits(line)).unwrap_or((place, ""));
            let colon = if line.is_empty() { "" } else { ":" };
            let (path, public) = self.file(path);
            let function =
                if public { self.public_code(function) } else { self.names.of(Sort::Function, function) };
            return format!("${path}{colon}{line} {function}");
        }
        for prefix in ["PjitFunction(", "PyLoweringCache("] {
            if let Some(function) = text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')')) {
                return format!("{prefix}{})", self.names.of(Sort::Function, function));
            }
        }
        self.public(text, Digits::Short)
    }
}

/// Endings that say what a file is, and nothing about whose.
const EXTENSIONS: [&str; 14] =
    ["py", "so", "cpp", "cu", "json", "yaml", "yml", "toml", "sh", "pt", "bin", "gz", "zst", "txt"];

/// Path, line and function of a frame.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (place, function) = text.split_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    is_digits(line).then_some((path, line, function))
}

/// What stands behind `lib/python3.11/`.
fn below_python(path: &str) -> Option<&str> {
    let (_, behind) = path.split_once("lib/python")?;
    let (version, tail) = behind.split_once('/')?;
    version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(tail)
}

fn below_torch(path: &str) -> Option<&str> {
    let at = path.rfind("/torch/")?;
    path.get(at + 1..)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// As `collectives` sees it.
fn is_host(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    name.bytes().all(allowed) && !name.to_ascii_lowercase().starts_with("rank")
}

pub(super) fn is_public_class(word: &str) -> bool {
    CLASSES.iter().chain(&FUNCTIONS).any(|known| known.eq_ignore_ascii_case(word))
}

fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__") && !name.contains(' ')
}
