//! Python frames, modules and annotations: what is public stays, what is somebody's own is replaced.

use gpuscope_trace::ServingStep;

use super::known::{
    ANNOTATIONS, BUILT_IN_TYPES, CLASSES, FUNCTIONS, OPTIMIZERS, PACKAGES, STANDARD_LIBRARY, has,
};
use super::names::{Names, Sort};

/// `path/file.py(12): function`, `nn.Module: Linear_3`, `<built-in method item of Tensor object at 0x7f>`.
pub(super) fn frame(names: &mut Names, text: &str) -> String {
    if let Some(module) = text.strip_prefix("nn.Module: ") {
        let (class, number) = match module.rsplit_once('_') {
            Some((class, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (class, Some(number))
            }
            _ => (module, None),
        };
        let class = class_name(names, class);
        return format!("nn.Module: {class}{}", number.map_or(String::new(), |number| format!("_{number}")));
    }
    if text.starts_with('<') {
        return built_in(names, text);
    }
    let Some((path, line, function)) = parts(text) else { return names.of(Sort::Function, text) };
    let (path, public) = file(names, path);
    let stays = public || has(&FUNCTIONS, function) || function.starts_with('<') || is_dunder(function);
    let function = if stays { function.to_owned() } else { names.of(Sort::Function, function) };
    format!("{path}({line}): {function}")
}

/// Path, line and function of a frame.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (place, function) = text.split_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    line.bytes().all(|byte| byte.is_ascii_digit()).then_some((path, line, function))
}

/// Frames of a call stack, one behind the other.
pub(super) fn stack(names: &mut Names, text: &str) -> String {
    let frames = text.split_inclusive([';', '\n']).map(|piece| {
        let frame_text = piece.trim_end_matches([';', '\n']);
        let end = &piece[frame_text.len()..];
        if frame_text.trim().is_empty() { piece.to_owned() } else { frame(names, frame_text) + end }
    });
    frames.collect()
}

/// A path, and whether it is of public code: then only what stands before the package is left out.
pub(super) fn file(names: &mut Names, path: &str) -> (String, bool) {
    let installed = ["site-packages/", "dist-packages/"].iter().find_map(|folder| path.split_once(folder));
    let tail = match installed {
        Some((_, tail)) => tail,
        None => below_python(path).unwrap_or(path),
    };
    let first = tail.split('/').next().unwrap_or(tail);
    let is_public = has(&PACKAGES, first)
        || has(&STANDARD_LIBRARY, first.strip_suffix(".py").unwrap_or(first))
        || (tail.starts_with('<') && tail.ends_with('>'));
    if is_public {
        return (tail.to_owned(), true);
    }
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    let extension =
        extension.filter(|end| end.len() <= 4 && end.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let new = names.of(Sort::File, path);
    (extension.map_or(new.clone(), |extension| format!("{new}.{extension}")), false)
}

/// What stands behind `lib/python3.11/`.
fn below_python(path: &str) -> Option<&str> {
    let (_, behind) = path.split_once("lib/python")?;
    let (version, tail) = behind.split_once('/')?;
    version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(tail)
}

/// `<built-in method NAME of TYPE object at 0x…>` with a type of somebody's own.
fn built_in(names: &mut Names, text: &str) -> String {
    let own = text.strip_prefix("<built-in method ").and_then(|rest| {
        let (method, rest) = rest.split_once(" of ")?;
        let (class, end) = rest.split_once(" object at ")?;
        let first = class.split('.').next().unwrap_or(class);
        let known = has(&BUILT_IN_TYPES, class) || has(&PACKAGES, first);
        (!known).then_some((method, class, end))
    });
    match own {
        Some((method, class, end)) => {
            let (method, class) = (names.of(Sort::Function, method), names.of(Sort::Class, class));
            format!("<built-in method {method} of {class} object at {end}")
        }
        None => names.paths(text),
    }
}

/// Somebody's annotation, or one that torch and its like write by themselves.
pub(super) fn annotation(names: &mut Names, text: &str) -> String {
    for prefix in ["Optimizer.step#", "Optimizer.zero_grad#"] {
        if let Some((class, method)) = text.strip_prefix(prefix).and_then(|rest| rest.rsplit_once('.')) {
            let class = if has(&OPTIMIZERS, class) { class.to_owned() } else { names.of(Sort::Class, class) };
            return format!("{prefix}{class}.{method}");
        }
    }
    if ANNOTATIONS.iter().any(|known| text.starts_with(known)) || ServingStep::is_all(text) {
        return names.paths(text);
    }
    names.of(Sort::Annotation, text)
}

/// A host event of JAX.
pub(super) fn jitted(names: &mut Names, text: &str) -> String {
    if let Some((place, function)) = text.strip_prefix('$').and_then(|rest| rest.split_once(' ')) {
        let (path, line) = place.rsplit_once(':').unwrap_or((place, ""));
        let (path, public) = file(names, path);
        let function = if public { function.to_owned() } else { names.of(Sort::Function, function) };
        return format!("${path}:{line} {function}");
    }
    for prefix in ["PjitFunction(", "PyLoweringCache("] {
        if let Some(function) = text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')')) {
            return format!("{prefix}{})", names.of(Sort::Function, function));
        }
    }
    names.paths(text)
}

pub(super) fn is_public_class(word: &str) -> bool {
    has(&CLASSES, word) || has(&FUNCTIONS, word) || is_dunder(word)
}

fn class_name(names: &mut Names, class: &str) -> String {
    if has(&CLASSES, class) { class.to_owned() } else { names.of(Sort::Module, class) }
}

fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__") && !name.contains(' ')
}
