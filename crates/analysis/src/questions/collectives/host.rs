//! The machine a rank ran on.

use gpuscope_trace::Metadata;

/// The host as the trace names it, else as its file was named: `HOST_PID.TIME.pt.trace.json`, which is what
/// `tensorboard_trace_handler` writes unless told another name (`worker3_step`, `rank0`), which is no host.
pub(super) fn of(metadata: &Metadata) -> Option<String> {
    let named = metadata.host_name.as_deref().map(str::trim).filter(|host| !host.is_empty());
    named.or_else(|| host_in_file_name(metadata.trace_name.as_deref()?)).map(str::to_owned)
}

fn host_in_file_name(path: &str) -> Option<&str> {
    let file = path.rsplit(['/', '\\']).next()?;
    let worker = &file[..file.find(".pt.trace.json")?];
    let (worker, _) = worker.rsplit_once('.').filter(|(_, stamp)| is_number(stamp))?;
    let (host, _) = worker.rsplit_once('_').filter(|(_, pid)| is_number(pid))?;
    is_host(host).then_some(host)
}

/// Names of hosts have letters, digits, hyphens and dots.
fn is_host(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    !name.is_empty() && name.bytes().all(allowed) && !name.to_ascii_lowercase().starts_with("rank")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tensorboard_handler_names_files_by_host() {
        assert_eq!(host_in_file_name("/log/gpu-12_4711.1712345678.pt.trace.json"), Some("gpu-12"));
        assert_eq!(host_in_file_name("node-a.local_77.1712345678901.pt.trace.json.gz"), Some("node-a.local"));
        assert_eq!(host_in_file_name("node-a_77.pt.trace.json"), None);
        assert_eq!(host_in_file_name("worker3_step_9.1712345678901.pt.trace.json"), None);
        assert_eq!(host_in_file_name("worker3_step.1712345678901.pt.trace.json"), None);
        assert_eq!(host_in_file_name("rank3_77.1712345678901.pt.trace.json"), None);
        assert_eq!(host_in_file_name("rank3.json"), None);
        assert_eq!(host_in_file_name("_77.pt.trace.json"), None);
    }
}
