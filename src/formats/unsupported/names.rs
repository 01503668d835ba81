//! Unsupported formats that are detected by file extension, by the files of a folder, or by the tables of a database.

use super::printed::OWN_TABLE;
use super::table::{CTF, ETL, NSYS, OTF2, UTRACE};
use crate::formats::RefusedKind;
use crate::formats::linux::perf_data::THREADED;

/// A database that has any of `tables`, and the table `also` unless that is empty.
pub(super) struct Database {
    pub(super) tables: &'static [&'static [u8]],
    pub(super) also: &'static [u8],
    pub(super) refused: RefusedKind,
}

/// A format, detected by the file extension.
pub(super) struct NamedFormat {
    pub(super) extension: &'static str,
    pub(super) refused: RefusedKind,
}

/// A trace folder, detected by its files.
pub(super) struct FolderFormat {
    pub(super) files: &'static [&'static str],
    pub(super) refused: RefusedKind,
}

const fn database(
    tables: &'static [&'static [u8]],
    also: &'static [u8],
    name: &'static str,
    advice: &'static str,
) -> Database {
    Database { tables, also, refused: RefusedKind::new(name, advice) }
}

const fn named(extension: &'static str, name: &'static str, advice: &'static str) -> NamedFormat {
    NamedFormat { extension, refused: RefusedKind::new(name, advice) }
}

const fn folder(files: &'static [&'static str], name: &'static str, advice: &'static str) -> FolderFormat {
    FolderFormat { files, refused: RefusedKind::new(name, advice) }
}

const PIX: RefusedKind = RefusedKind::new("a capture of PIX", "PIX shows it; no known tool converts it");
const UPROF: RefusedKind = RefusedKind::new(
    "a recording of AMD uProf",
    "`AMDuProfCLI report` prints it; no known tool converts it. Record with `perf record -g PROGRAM` instead",
);
const DOTTRACE: RefusedKind = RefusedKind::new(
    "a snapshot of dotTrace",
    "dotTrace shows it; record with `dotnet-trace collect --format Speedscope` instead",
);

pub(super) const DATABASES: &[Database] = &[
    database(
        &[b"CUPTI_ACTIVITY_KIND"],
        b"StringTable",
        "a profile of nvprof or the Visual Profiler",
        "convert it with nvprof2json: `nvprof2json.py CAPTURE > trace.json`, and open trace.json",
    ),
    database(
        &[b"CUPTI_ACTIVITY_KIND", b"NVTX_EVENTS", b"TARGET_INFO_SESSION"],
        b"",
        "a report of Nsight Systems as a database",
        "convert it with nsys2json: `nsys2json -f CAPTURE -o trace.json`",
    ),
    database(
        &[b"rocpd_"],
        b"",
        "a profile of ROCm (rocpd)",
        "convert it with `rocpd2pftrace -i CAPTURE`, and open the .pftrace",
    ),
];

pub(super) const EXTENSIONS: &[NamedFormat] = &[
    // Brotli has no first bytes of its own.
    named("br", "a file compressed by Brotli", "unpack it with `brotli -dk FILE`"),
    NamedFormat { extension: "etl", refused: ETL },
    NamedFormat { extension: "otf2", refused: OTF2 },
    NamedFormat { extension: "utrace", refused: UTRACE },
    NamedFormat { extension: "nsys-rep", refused: NSYS },
    NamedFormat { extension: "qdrep", refused: NSYS },
    NamedFormat { extension: "wpix", refused: PIX },
    named(
        "vtune",
        "a result of Intel VTune",
        "VTune shows it; convert its report of call stacks as comma-separated values with `stackcollapse-vtune.pl`, of the FlameGraph scripts",
    ),
    NamedFormat { extension: "caperf", refused: UPROF },
    NamedFormat { extension: "prd", refused: UPROF },
    named("rgp", "a profile of Radeon GPU Profiler", "the tool that recorded it shows it; no known tool converts it"),
    named("binlog", "a binary log of MSBuild", "the MSBuild Structured Log Viewer shows it; no known tool converts it"),
    named("ue4stats", "statistics of Unreal Engine", "Unreal Frontend shows them; no known tool converts them"),
    named(
        "jps",
        "a snapshot of JProfiler",
        "JProfiler shows it; record with async-profiler's `asprof -f profile.collapsed PID` instead",
    ),
    NamedFormat { extension: "dtp", refused: DOTTRACE },
    NamedFormat { extension: "dtt", refused: DOTTRACE },
    named(
        "ncu-rep",
        "a report of Nsight Compute",
        "it profiles single kernels and has no timeline; `nsys profile` records one",
    ),
];

pub(super) const FOLDERS: &[FolderFormat] = &[
    FolderFormat { files: &["data", "data.0"], refused: THREADED },
    folder(&["data", "kcore_dir"], "a folder of `perf record --kcore`", "open the file `data` in it, which is read"),
    FolderFormat { files: &["metadata"], refused: CTF },
    folder(
        &["tracks.parquet", "stacks.parquet", "losses.parquet"],
        "a folder of tables that Longspan wrote (Parquet)",
        OWN_TABLE,
    ),
    folder(
        &["version", "events", "mmaps"],
        "a recording of rr",
        "`rr replay FOLDER` replays it; no known tool converts it",
    ),
    folder(
        &["log.xml", "map.xml"],
        "an experiment of gprofng",
        "`gprofng display text -functions FOLDER` prints it; record with `perf record -g PROGRAM` instead",
    ),
    folder(
        &["captured.xml", "session.xml"],
        "a capture of Arm Streamline",
        "Streamline shows it; no known tool converts it",
    ),
    folder(&["meta.db", "profile.db"], "a database of HPCToolkit", "hpcviewer shows it; no known tool converts it"),
    folder(
        &["Info.plist", "Data"],
        "a result of Xcode's tests (xcresult)",
        "it has no timeline; `xcrun xcresulttool` prints it",
    ),
    FolderFormat { files: &["traces.otf2", "traces.def"], refused: OTF2 },
    folder(
        &["Trace1.run"],
        "a trace of Apple's Instruments",
        "open it in Instruments, copy its call tree, or record with `samply record` instead",
    ),
];
