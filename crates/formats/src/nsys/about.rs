//! What an export says about itself: devices, versions, names of threads, and what the profiler remarked on.

use gpuscope_trace::metadata::Device;
use gpuscope_trace::{Code, Id, Ns, Quality};

use super::process::{Processes, pid, process_of, tid};
use crate::ReadError;
use crate::sqlite::{Cells, Database};

pub(super) fn read(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    devices_of_processes(database, processes)?;
    versions(database, processes)?;
    names(database, processes)?;
    remarks(database, processes)
}

const DEVICE: [&str; 13] = [
    "cuDevice",
    "id",
    "name",
    "totalMemory",
    "smCount",
    "computeMajor",
    "computeMinor",
    "maxThreadsPerBlock",
    "maxRegistersPerBlock",
    "maxRegistersPerSm",
    "threadsPerWarp",
    "maxShmemPerBlock",
    "maxShmemPerSm",
];

/// The GPUs of the machine, by CUDA's own numbers: those of the table may be the other way round.
pub(super) fn devices(database: &mut Database<'_>) -> Result<Vec<Device>, ReadError> {
    let mut devices = Vec::new();
    database.each("TARGET_INFO_GPU", &DEVICE, |row| {
        devices.extend(row.int(0).or_else(|| row.int(1)).map(|id| device(id, row)));
    })?;
    devices.sort_by_key(|device| device.id);
    Ok(devices)
}

fn device(id: i64, row: Cells<'_>) -> Device {
    Device {
        id,
        name: row.text(2).map(|name| String::from_utf8_lossy(name).into_owned()),
        memory_bytes: row.int(3),
        multiprocessors: row.int(4),
        compute_major: row.int(5),
        compute_minor: row.int(6),
        max_threads_per_block: row.int(7),
        registers_per_block: row.int(8),
        registers_per_multiprocessor: row.int(9),
        warp_size: row.int(10),
        shared_memory_per_block: row.int(11),
        shared_memory_per_multiprocessor: row.int(12),
        ..Device::default()
    }
}

/// A process may see some of the GPUs only, under numbers of its own.
fn devices_of_processes(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let mut by_id: Vec<(i64, Device)> = Vec::new();
    database.each("TARGET_INFO_GPU", &DEVICE, |row| {
        by_id.extend(row.int(1).map(|id| (id, device(id, row))));
    })?;
    let mut seen: Vec<(i64, Device)> = Vec::new();
    database.each("TARGET_INFO_CUDA_DEVICE", &["gpuId", "cudaId", "pid"], |row| {
        let (Some(gpu), Some(number), Some(of)) = (row.int(0), row.int(1), row.int(2)) else { return };
        let found = by_id.iter().find(|(id, _)| *id == gpu);
        seen.extend(found.map(|(_, device)| (of, Device { id: number, ..device.clone() })));
    })?;
    let all = processes.devices.clone();
    for (process, _) in processes.each() {
        let own = seen.iter().filter(|(of, _)| *of == pid(process.id) || *of == process.id << 24);
        let mut own: Vec<Device> = own.map(|(_, device)| device.clone()).collect();
        own.sort_by_key(|device| device.id);
        own.dedup_by_key(|device| device.id);
        process.builder.metadata_mut().devices = if own.is_empty() { all.clone() } else { own };
    }
    Ok(())
}

fn versions(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let mut versions = Vec::new();
    for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
        database.each(table, &["name", "value"], |row| {
            let name = match row.text(0) {
                Some(b"EXPORT_SCHEMA_VERSION") => "nsys_schema_version",
                Some(b"EXPORT_PRODUCT_VERSION") => "nsys_version",
                _ => return,
            };
            versions.extend(
                row.text(1).map(|text| (name.to_owned(), String::from_utf8_lossy(text).into_owned())),
            );
        })?;
    }
    let mut epoch = None;
    database.each("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |row| epoch = epoch.or(row.int(0)))?;
    for (process, _) in processes.each() {
        let metadata = process.builder.metadata_mut();
        metadata.versions.extend(versions.iter().cloned());
        metadata.base_time_ns = epoch;
        // Times count from the beginning of the session.
        metadata.began = Some(Ns::ZERO);
    }
    Ok(())
}

fn names(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    database.each("ThreadNames", &["nameId", "globalTid"], |row| {
        let (Some(name), Some(global)) = (row.int(0), row.int(1)) else { return };
        let Some((process, texts)) = processes.of_host(Some(global)) else { return };
        let Some(name) = texts.get(name).map(<[u8]>::to_owned) else { return };
        let of = Id::Int(pid(process_of(global)));
        let label = format!("thread {} ({})", tid(global), String::from_utf8_lossy(&name));
        process.label("thread_name", of, Id::Int(tid(global)), label.as_bytes());
    })?;
    for (process, _) in processes.each() {
        let of = pid(process.id);
        process.label("process_name", Id::Int(of), Id::Absent, format!("process {of}").as_bytes());
        let devices: Vec<i64> =
            process.builder.metadata_mut().devices.iter().map(|device| device.id).collect();
        for device in devices {
            process.label("process_name", Id::Int(device), Id::Absent, format!("GPU {device}").as_bytes());
        }
    }
    Ok(())
}

/// What severity the profiler gives to a warning.
const WARNING: i64 = 2;
/// How many different remarks are told.
const MOST: usize = 8;

/// Remarks of nearly every recording: that nothing was recorded of what nobody asked for, and how containers are set up.
const NO_NEWS: [&str; 6] = [
    "Does the process use",
    "MMAP events",
    "IP/backtrace",
    "CPU kernel IP",
    "CPU IP",
    "Scheduling information is absent",
];

fn remarks(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let (mut lost, mut others): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    database.each("DIAGNOSTIC_EVENT", &["severity", "text"], |row| {
        if row.int(0).unwrap_or(0) < WARNING {
            return;
        }
        let Some(text) = row.text(1).map(String::from_utf8_lossy) else { return };
        let first = text.lines().next().unwrap_or_default().trim().to_owned();
        if first.is_empty() || NO_NEWS.iter().any(|words| first.contains(words)) {
            return;
        }
        let lower = first.to_lowercase();
        let about_gpu = lower.contains("cuda") || lower.contains("gpu");
        let is_loss = ["not all", "dropped", "lost", "incomplete"].iter().any(|word| lower.contains(word));
        let told = if is_loss && about_gpu { &mut lost } else { &mut others };
        if !told.contains(&first) {
            told.push(first);
        }
    })?;
    let Some((process, _)) = processes.each().next() else { return Ok(()) };
    if !lost.is_empty() {
        let message = format!("Nsight Systems may have lost events: {}", lost.join("; "));
        process.builder.report(Quality::new(Code::DroppedEvents, lost.len() as u64, message));
    }
    if !others.is_empty() {
        let count = others.len();
        let more = if count > MOST { format!(" (and {} more)", count - MOST) } else { String::new() };
        others.truncate(MOST);
        let message = format!("Nsight Systems remarked: {}{more}", others.join("; "));
        process.builder.report(Quality::new(Code::RecorderRemarks, count as u64, message));
    }
    Ok(())
}
