//! What sort of thing an event is, by its category.

/// The meaning of a category. Old and new names of one thing have one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    Kernel,
    GpuMemcpy,
    GpuMemset,
    /// A Meta Training and Inference Accelerator's device rows.
    MtiaDevice,
    /// A row on a track that XLA names a GPU stream.
    XlaDevice,
    Runtime,
    Driver,
    Operator,
    Annotation,
    GpuAnnotation,
    PythonFrame,
    Sync,
    Overhead,
    /// `cpu_instant_event`, `[memory]` above all.
    HostInstant,
    /// A call of the operating system, as Nsight Systems records them.
    OsRuntime,
    /// Where a thread was when a profiler looked.
    HostSample,
    ProfilerRange,
    /// The profiler's own span rows.
    ProfilerSpan,
    Flow(Flow),
    Counter,
    /// Any other category that current producers write.
    Known,
    /// No category at all.
    Uncategorised,
    /// A category nobody told us about.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// From a launching call to its GPU work.
    Launch,
    /// From a forward operator to its backward.
    ForwardBackward,
    Other,
}

impl Class {
    pub fn of(category: &str) -> Class {
        match category {
            "" => Class::Uncategorised,
            "kernel" | "Kernel" => Class::Kernel,
            "gpu_memcpy" | "Memcpy" => Class::GpuMemcpy,
            "gpu_memset" | "Memset" => Class::GpuMemset,
            "mtia_ccp_events" => Class::MtiaDevice,
            "cpu_op" | "Operator" => Class::Operator,
            "user_annotation" => Class::Annotation,
            "gpu_user_annotation" => Class::GpuAnnotation,
            "python_function" => Class::PythonFrame,
            "cuda_sync" => Class::Sync,
            "overhead" => Class::Overhead,
            "osrt" => Class::OsRuntime,
            "cpu_sample" => Class::HostSample,
            "cpu_instant_event" => Class::HostInstant,
            "cuda_profiler_range" => Class::ProfilerRange,
            "Trace" => Class::ProfilerSpan,
            "ac2g" | "async" | "async_gpu" | "async_cpu_to_gpu" => Class::Flow(Flow::Launch),
            "fwdbwd" | "forward_backward" => Class::Flow(Flow::ForwardBackward),
            "hardware_counters" => Class::Counter,
            "cuda_event" | "collective_comm" | "hpu_op" | "glow_runtime_host" | "mtia_insight"
            | "mtia_workloadd" => Class::Known,
            "Runtime" => Class::Runtime,
            "Driver" => Class::Driver,
            _ if category.ends_with("_runtime") => Class::Runtime,
            _ if category.ends_with("_driver") => Class::Driver,
            _ if category.starts_with("xpu_") || category.starts_with("privateuse1_") => Class::Known,
            _ => Class::Unknown,
        }
    }

    /// A duration event of this class is work on a device.
    pub fn is_gpu(self) -> bool {
        matches!(
            self,
            Class::Kernel | Class::GpuMemcpy | Class::GpuMemset | Class::MtiaDevice | Class::XlaDevice
        )
    }

    /// A call that can put work on a device.
    pub fn is_call(self) -> bool {
        matches!(self, Class::Runtime | Class::Driver)
    }

    /// Runs on a host thread and so takes part in that thread's nesting.
    pub fn is_host(self) -> bool {
        matches!(
            self,
            Class::Runtime
                | Class::Driver
                | Class::Operator
                | Class::Annotation
                | Class::PythonFrame
                | Class::Known
                | Class::Unknown
                | Class::Uncategorised
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_names_are_one_class() {
        assert_eq!(Class::of("Kernel"), Class::of("kernel"));
        assert_eq!(Class::of("Runtime"), Class::of("cuda_runtime"));
        assert_eq!(Class::of("mtia_runtime"), Class::Runtime);
        assert_eq!(Class::of("async_cpu_to_gpu"), Class::of("ac2g"));
        assert_eq!(Class::of("never heard of"), Class::Unknown);
    }

    #[test]
    fn synchronisation_and_annotations_are_not_gpu_work() {
        assert!(!Class::of("cuda_sync").is_gpu());
        assert!(!Class::of("gpu_user_annotation").is_gpu());
        assert!(Class::of("gpu_memset").is_gpu());
    }
}
