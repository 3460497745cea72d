//! Chrome traces of JAX and XLA: GPUs are processes, streams are threads, both known by name alone.

/// Device and stream of a track, if it is a GPU stream: process `… /device:GPU:3`, thread `Stream #16(Kernel)`.
/// The other threads of such a process are derived lines that would count the same time again.
pub(crate) fn stream_of(process: &str, thread: &str) -> Option<(i64, i64)> {
    let (_, device) = process.split_once("/device:GPU:")?;
    Some((leading_number(device)?, leading_number(thread.strip_prefix("Stream #")?)?))
}

fn leading_number(text: &str) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stream_threads_of_gpu_processes_are_gpu_work() {
        assert_eq!(stream_of("tw003 /device:GPU:3", "Stream #16(Kernel)"), Some((3, 16)));
        assert_eq!(stream_of("tw003 /device:GPU:3", "XLA Ops"), None);
        assert_eq!(stream_of("/host:CPU", "Stream #16"), None);
        assert_eq!(stream_of("/device:GPU:x", "Stream #1"), None);
    }
}
