//! The keys that stay, and the rule for the value under each; every other key is replaced.

use gpuscope_trace::{Arg, ArgType};

use super::values::Rule;

/// An entry beside the events.
pub(super) fn entry(key: &str) -> Option<Rule> {
    Some(match key {
        "traceEvents"
        | "schemaVersion"
        | "displayTimeUnit"
        | "baseTimeNanoseconds"
        | "with_flops"
        | "with_modules"
        | "with_stack"
        | "record_shapes"
        | "profile_memory" => Rule::Value,
        "roctracer_version"
        | "hip_runtime_version"
        | "hip_driver_version"
        | "cupti_version"
        | "cuda_runtime_version"
        | "cuda_driver_version"
        | "nccl_version"
        | "torch_version"
        | "rocm_version" => Rule::Version,
        "deviceProperties" => Rule::Devices,
        "distributedInfo" => Rule::Distributed,
        "INFO" | "WARNING" | "ERROR" => Rule::Log,
        "host_name" => Rule::Host,
        "trace_id" => Rule::Id,
        "traceName" | "trace_name" => Rule::TraceName,
        _ => return None,
    })
}

/// A member of an event; its name, its category and its arguments have rules of their own.
pub(super) fn event(key: &str) -> Option<Rule> {
    Some(match key {
        "ph" | "s" | "bp" => Rule::Phase,
        "cat" => Rule::Category,
        "name" => Rule::Event,
        "args" => Rule::Args,
        "pid" | "tid" | "id" | "scope" | "bind_id" => Rule::Label,
        "ts" | "dur" | "tts" | "tdur" | "sf" | "esf" | "z" | "flow_in" | "flow_out" | "thread_count" => {
            Rule::Value
        }
        "cname" => Rule::Public,
        _ => return None,
    })
}

/// An argument of an event.
pub(super) fn argument(key: &str) -> Option<Rule> {
    let rule = match key {
        "Call stack" => Rule::Stack,
        "Module Hierarchy" | "hlo_module" | "tf_op" | "module_name" => Rule::Modules,
        "kernel_file" | "source_file" => Rule::File,
        "Process Group Name" | "Process Group Description" => Rule::Group,
        "kernel_hash" => Rule::Id,
        "kernel" | "kernel_name" | "hlo_op" | "long_name" | "Trace name" => Rule::Public,
        "device" | "stream" | "name" | "labels" => Rule::Label,
        "finished" | "cbid" | "Trace iteration" | "cid" | "is_eager" | "device_id" | "Process Group ID"
        | "memcpy_details" | "Op count" | "ptr" | "external ts" | "size" | "scope" | "priority"
        | "Module id" => Rule::Value,
        _ => match Arg::from_key(key.as_bytes())?.arg_type() {
            ArgType::Int | ArgType::Float | ArgType::Text => Rule::Value,
            ArgType::Id => Rule::Label,
        },
    };
    Some(rule)
}

/// An argument of a metadata event.
pub(super) fn label(key: &str) -> Option<Rule> {
    matches!(key, "name" | "labels" | "sort_index").then_some(Rule::Label)
}

/// An entry of `distributedInfo`, or of a process group in it.
pub(super) fn distributed(key: &str) -> Option<Rule> {
    Some(match key {
        "backend" | "backend_config" | "ranks" | "rank" | "world_size" | "pg_count" | "pg_size" => {
            Rule::Value
        }
        "nccl_version" => Rule::Version,
        "pg_name" | "pg_desc" => Rule::Group,
        "pg_config" => Rule::Distributed,
        _ => return None,
    })
}

/// What is told of a device.
pub(super) fn device(key: &str) -> Option<Rule> {
    Some(match key {
        "name" => Rule::Public,
        "id"
        | "totalGlobalMem"
        | "computeMajor"
        | "computeMinor"
        | "maxThreadsPerBlock"
        | "maxThreadsPerMultiprocessor"
        | "regsPerBlock"
        | "regsPerMultiprocessor"
        | "warpSize"
        | "sharedMemPerBlock"
        | "sharedMemPerBlockOptin"
        | "sharedMemPerMultiprocessor"
        | "maxSharedMemoryPerMultiProcessor"
        | "numSms" => Rule::Value,
        _ => return None,
    })
}
