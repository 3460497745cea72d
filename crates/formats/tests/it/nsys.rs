//! Exports of Nsight Systems, made here by the schema that real ones have: what is read, and what damage makes of it.

use std::collections::BTreeMap;
use std::path::Path;

use gpuscope_formats::{FORMATS, Loaded, ReadError, ReadOptions, read, read_file};
use gpuscope_trace::{Arg, Class, Code, Index, Trace};
use rusqlite::Connection;

/// Machine 1, process 100, as exports number them.
pub(crate) const PROCESS: i64 = 1 << 56 | 100 << 24;
pub(crate) const OTHER: i64 = 1 << 56 | 200 << 24;

const SCHEMA: &str = "
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, cuDevice INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
        gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
        correlationId INTEGER, nameId INTEGER);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
        globalTid INTEGER, domainId INTEGER, binaryData BLOB);
    INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000'),
        (4, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (5, 'cudaStreamSynchronize_v3020'), (6, 'ncclAllReduce');
    INSERT INTO TARGET_INFO_GPU VALUES (3, 'NVIDIA A100', 42, 108, 0);
";

pub(crate) struct Export {
    folder: tempfile::TempDir,
    pub(crate) connection: Connection,
}

impl Export {
    fn new(more: &str) -> Export {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("report.sqlite")).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        connection.execute_batch(more).unwrap();
        Export { folder, connection }
    }

    fn kernel(self, process: i64, times: (i64, i64), stream: i64, correlation: i64, name: i64) -> Export {
        let (start, end) = times;
        let values = format!(
            "({start}, {end}, 0, 1, {stream}, {correlation}, {process}, {name}, 2, 216, 1, 1, 128, 1, 1)"
        );
        self.with(&format!("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {values}"))
    }

    fn call(self, process: i64, times: (i64, i64), class: i64, correlation: i64, name: i64) -> Export {
        let ((start, end), thread) = (times, process | 7);
        let values = format!("({start}, {end}, {class}, {thread}, {correlation}, {name})");
        self.with(&format!("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES {values}"))
    }

    pub(crate) fn with(self, sql: &str) -> Export {
        self.connection.execute_batch(sql).unwrap();
        self
    }

    pub(crate) fn read(&self) -> Result<Vec<Trace>, ReadError> {
        read_at(&self.folder.path().join("report.sqlite")).map(|loaded| loaded.traces)
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("report.sqlite")).unwrap()
    }
}

fn read_at(path: &Path) -> Result<Loaded, ReadError> {
    let format = FORMATS.iter().find(|format| (format.recognise)(b"SQLite format 3\0")).unwrap();
    read_file(path, format, &|| true, ReadOptions::default()).unwrap()
}

/// Two kernels of one process, the second after one of another.
pub(crate) fn job() -> Export {
    Export::new("")
        .kernel(PROCESS, (200, 300), 7, 11, 1)
        .kernel(OTHER, (150, 250), 7, 11, 1)
        .kernel(PROCESS, (400, 450), 7, 12, 1)
        .call(PROCESS, (100, 110), 0, 11, 3)
        .call(PROCESS, (100, 110), 67, 11, 3)
        .call(OTHER, (90, 95), 0, 11, 3)
        .call(PROCESS, (120, 130), 0, 12, 3)
}

#[test]
fn each_process_is_a_rank_and_links_stay_within() {
    let traces = job().read().unwrap();
    assert_eq!(traces.len(), 2);
    for (rank, trace) in traces.iter().enumerate() {
        assert_eq!(trace.metadata.distributed.as_ref().unwrap().rank, Some(rank as i64));
        let index = Index::default();
        for event in index.gpu(trace).iter() {
            let call = index.launches(trace).call(event.row).unwrap();
            assert_eq!(trace.name(call), "cudaLaunchKernel");
            assert_eq!(trace.args.int(call, Arg::Correlation), trace.args.int(event.row, Arg::Correlation));
            assert_eq!(trace.name(event.row), "void gemm<float>(float*)");
        }
    }
    assert_eq!(traces[0].rows().filter(|row| traces[0].class(*row).is_call()).count(), 2, "no call twice");
    let row = traces[0].rows().find(|row| traces[0].class(*row) == Class::Kernel).unwrap();
    let text = |arg| traces[0].args.text(row, arg).map(|text| traces[0].strings.get(text));
    assert_eq!((text(Arg::Grid), text(Arg::Block)), (Some("[216, 1, 1]"), Some("[128, 1, 1]")));
    assert_eq!(traces[0].args.float(row, Arg::BlocksPerSm), Some(2.0));
    assert_eq!(traces[0].args.float(row, Arg::WarpsPerSm), Some(8.0));
    assert_eq!(
        (traces[0].metadata.devices[0].id, traces[0].metadata.devices[0].multiprocessors),
        (0, Some(108))
    );
}

#[test]
fn graphs_count_as_a_whole_unless_their_kernels_are_there() {
    let table = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
        contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);";
    let replays = format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (500, 900, 0, 1, 7, 12, {PROCESS}, 4),
        (1000, 1900, 0, 1, 7, 20, {PROCESS}, 4)"
    );
    let traces = job().with(table).with(&replays).read().unwrap();
    let names: Vec<&str> =
        Index::default().gpu(&traces[0]).iter().map(|event| traces[0].name(event.row)).collect();
    assert_eq!(names, ["void gemm<float>(float*)", "void gemm<float>(float*)", "CUDA graph 4"]);
}

#[test]
fn synchronisation_goes_by_the_name_of_the_call() {
    let table = "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
        contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);";
    let rows = format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
        (460, 470, 0, 1, 7, 13, {PROCESS}, 0, 0), (480, 490, 0, 1, 7, 99, {PROCESS}, 0, 0)"
    );
    let traces = job().call(PROCESS, (455, 475), 0, 13, 5).with(table).with(&rows).read().unwrap();
    let trace = &traces[0];
    let syncs: Vec<&str> =
        trace.rows().filter(|row| trace.class(*row) == Class::Sync).map(|row| trace.name(row)).collect();
    assert_eq!(syncs, ["Stream Sync"], "of the other nobody knows who waited");
}

#[test]
fn what_nccl_says_of_a_collective_is_on_the_range_in_which_it_is_launched() {
    let range = |times: &str, text: &str, data: &str| {
        let thread = PROCESS | 7;
        format!("INSERT INTO NVTX_EVENTS VALUES ({times}, 59, '{text}', NULL, {thread}, 1, {data});")
    };
    // Communicator 0xab, 4 ranks; 1,024 bytes each; little-endian words.
    let made = range("1, 5", "ncclCommInitRank", "x'ab000000000000000400000001000000'");
    let gather = range("90, 140", "ncclAllGather", "x'ab000000000000000004000000000000'");
    let traces = job().with(&made).with(&gather).read().unwrap();
    let trace = &traces[0];
    let row = trace.rows().find(|row| trace.name(*row) == "ncclAllGather").unwrap();
    let text = |arg| trace.args.text(row, arg).map(|text| trace.strings.get(text));
    assert_eq!((text(Arg::CollectiveName), text(Arg::GroupName)), (Some("all_gather"), Some("0xab")));
    let int = |arg| trace.args.int(row, arg);
    assert_eq!(
        [int(Arg::InMsgNelems), int(Arg::OutMsgNelems), int(Arg::GroupSize)],
        [Some(1024), Some(4096), Some(4)]
    );
}

#[test]
fn operators_of_pytorch_are_operators() {
    let range = |times: &str, text: &str| {
        format!("INSERT INTO NVTX_EVENTS VALUES ({times}, 59, '{text}', NULL, {}, 0, NULL);", PROCESS | 7)
    };
    let traces = job()
        .with(&range("50, 200", "step"))
        .with(&range("90, 150", "aten::addmm, seq = 7, op_id = 9, sizes = [[4], [2, 3]]"))
        .with(&range("160, 180", "autograd::engine::evaluate_function: AddmmBackward0, op_id = 12"))
        .with(&range("165, 175", "AddmmBackward0, seq = 7, op_id = 13"))
        .read()
        .unwrap();
    let trace = &traces[0];
    let row = |name: &str| trace.rows().find(|row| trace.name(*row) == name).unwrap();
    let (operator, backward) = (row("aten::addmm"), row("AddmmBackward0"));
    assert_eq!((trace.class(operator), trace.class(row("step"))), (Class::Operator, Class::Annotation));
    let text = |arg| trace.args.text(operator, arg).map(|text| trace.strings.get(text));
    assert_eq!(text(Arg::InputDims), Some("[[4], [2, 3]]"));
    assert_eq!(text(Arg::NvtxText), Some("aten::addmm, seq = 7, op_id = 9, sizes = [[4], [2, 3]]"));
    let index = Index::default();
    assert_eq!(index.autograd(trace).forward(backward), Some(operator));
    let launch = trace.rows().find(|row| trace.class(*row).is_call()).unwrap();
    assert_eq!(index.nesting(trace).parent(launch), Some(operator));
}

#[test]
fn synchronisation_is_of_the_device_that_its_context_is_of() {
    let table = "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
        contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);";
    let rows = format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (460, 470, 0, 1, 7, 13, {PROCESS}, 0, 0);
         UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 3 WHERE globalPid = {PROCESS};"
    );
    let traces = job().call(PROCESS, (455, 475), 0, 13, 5).with(table).with(&rows).read().unwrap();
    let trace = &traces[0];
    let sync = trace.rows().find(|row| trace.class(*row) == Class::Sync).unwrap();
    assert_eq!(trace.track(sync).key.device, gpuscope_trace::Id::Int(3));
}

#[test]
fn copies_say_which_memory_they_read_and_write() {
    let table = format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
            dstKind INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (500, 600, 0, 1, 7, 21, {PROCESS}, 64, 1, 0, 2)"
    );
    let traces = job().with(&table).read().unwrap();
    let trace = &traces[0];
    let copy = trace.rows().find(|row| trace.class(*row) == Class::GpuMemcpy).unwrap();
    let text = |arg| trace.args.text(copy, arg).map(|text| trace.strings.get(text));
    assert_eq!((text(Arg::Source), text(Arg::Destination)), (Some("Pageable"), Some("Device")));
}

#[test]
fn calls_of_a_group_are_launched_by_its_end() {
    let range = |times: &str, text: &str| {
        format!("INSERT INTO NVTX_EVENTS VALUES ({times}, 59, '{text}', NULL, {}, 1, NULL);", PROCESS | 7)
    };
    let sql: String =
        [("1, 2", "ncclGroupStart"), ("3, 4", "ncclSend"), ("5, 6", "ncclRecv"), ("7, 20", "ncclGroupEnd")]
            .map(|(times, text)| range(times, text))
            .concat();
    let traces = job().with(&sql).read().unwrap();
    let trace = &traces[0];
    let told: BTreeMap<&str, &str> = trace
        .args
        .texts(Arg::CollectiveName)
        .map(|(row, text)| (trace.name(row), trace.strings.get(text)))
        .collect();
    assert_eq!(told, BTreeMap::from([("ncclGroupEnd", "sendrecv")]));
}

#[test]
fn tables_that_are_not_there_and_values_of_other_types_cost_nothing_else() {
    let traces = job()
        .with("DROP TABLE NVTX_EVENTS; DROP TABLE TARGET_INFO_GPU")
        .with(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('soon', NULL, x'00', 1.5, 'x', 3, {PROCESS}, 'name', 2, 1, 1, 1, 1, 1, 1),
             (500, 400, 0, 1, 7, 30, {PROCESS}, 1, 2, 1, 1, 1, 1, 1, 1)"
        ))
        .read()
        .unwrap();
    let codes: Vec<Code> = traces[0].quality.iter().map(|entry| entry.code).collect();
    assert_eq!(codes, [Code::NegativeDuration, Code::MalformedEvents]);
    assert_eq!(Index::default().gpu(&traces[0]).len(), 2);
}

#[test]
fn an_export_without_gpu_work_is_one_rank() {
    let traces =
        Export::new("").call(PROCESS, (10, 20), 0, 1, 3).call(OTHER, (5, 9), 0, 1, 3).read().unwrap();
    assert_eq!((traces.len(), traces[0].len()), (1, 2));
    assert!(traces[0].metadata.distributed.is_none());
}

#[test]
fn a_view_or_a_virtual_table_is_passed_over() {
    let hostile = "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS WITH RECURSIVE more(start) AS
        (SELECT 1 UNION ALL SELECT start + 1 FROM more) SELECT start FROM more;";
    assert_eq!(job().with(hostile).read().unwrap().len(), 2);
}

#[test]
fn other_databases_are_called_by_their_names() {
    let of = |sql: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        read_at(&path).unwrap_err().to_string()
    };
    assert!(of("CREATE TABLE rocpd_op (id INTEGER)").contains("RPD"));
    assert!(of("CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER)").contains("rocprofv3"));
    assert!(of("CREATE TABLE compute_dispatch (id INTEGER)").contains("rocprof-compute"));
    assert!(of("CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (id INTEGER)").contains("nvprof"));
    assert!(of("CREATE TABLE music (id INTEGER)").contains("another program"));
}

#[test]
fn nothing_is_written_beside_the_file_and_a_lock_keeps_nobody_out() {
    let export =
        job().with("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; INSERT INTO StringIds VALUES (99, 'x')");
    let before: Vec<_> = names(export.folder.path());
    assert_eq!(export.read().unwrap().len(), 2);
    assert_eq!(names(export.folder.path()), before);
    let waiting = job().with("PRAGMA journal_mode = WAL; INSERT INTO StringIds VALUES (99, 'x')");
    let before: Vec<_> = names(waiting.folder.path());
    let traces = waiting.read().unwrap();
    assert!(traces[0].quality.iter().any(|entry| entry.message.contains("-wal")), "{:?}", traces[0].quality);
    assert_eq!(names(waiting.folder.path()), before);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_compressed_export_is_read_as_well() {
    let packed = zstd::encode_all(&job().bytes()[..], 1).unwrap();
    assert_eq!(read(&packed[..], ReadOptions::default()).unwrap().traces.len(), 2);
}

#[test]
fn whatever_is_cut_or_changed_is_an_error_or_a_remark() {
    let whole = job().bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sqlite");
    for step in 1..60 {
        let at = whole.len() * step / 60;
        std::fs::write(&path, &whole[..at]).unwrap();
        if let Ok(loaded) = read_at(&path) {
            let code = loaded.traces[0].quality.last().map(|entry| entry.code);
            assert_eq!(code, Some(Code::Truncated), "cut at {at}");
        }
        // Bytes that nothing uses say nothing, and numbers that were changed are numbers still.
        let mut bytes = whole.clone();
        bytes[at..(at + 64).min(whole.len())].fill(0xa5);
        std::fs::write(&path, &bytes).unwrap();
        let _ = read_at(&path);
    }
    for cut in [0, 10, 16, 99, 100, 511] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(read_at(&path).is_err(), "cut at {cut}");
    }
}
