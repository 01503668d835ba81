//! Unsupported formats that are detected by file extension, by the files of a folder, or by the tables of a database.

use super::printed::OWN_TABLE;
use super::table::{CTF, ETL, NSYS, OTF2, UTRACE};
use crate::formats::linux::perf_data::THREADED;

/// A database, detected by any of its tables, and by another one if `also` is not empty.
pub(super) struct Database {
    pub(super) tables: &'static [&'static [u8]],
    pub(super) also: &'static [u8],
    pub(super) found: &'static str,
    pub(super) advice: &'static str,
}

/// A format, detected by the file extension.
pub(super) struct NamedFormat {
    pub(super) extension: &'static str,
    pub(super) found: &'static str,
    pub(super) advice: &'static str,
}

/// A trace folder, detected by its files.
pub(super) struct FolderFormat {
    pub(super) files: &'static [&'static str],
    pub(super) found: &'static str,
    pub(super) advice: &'static str,
}

const PIX: [&str; 2] = ["a capture of PIX", "PIX shows it; no known tool converts it"];
const UPROF: [&str; 2] = [
    "a recording of AMD uProf",
    "`AMDuProfCLI report` prints it; no known tool converts it. Record with `perf record -g PROGRAM` instead",
];
const DOTTRACE: [&str; 2] =
    ["a snapshot of dotTrace", "dotTrace shows it; record with `dotnet-trace collect --format Speedscope` instead"];

pub(super) const DATABASES: &[Database] = &[
    Database {
        tables: &[b"CUPTI_ACTIVITY_KIND"],
        also: b"StringTable",
        found: "a profile of nvprof or the Visual Profiler",
        advice: "convert it with nvprof2json: `nvprof2json.py CAPTURE > trace.json`, and open trace.json",
    },
    Database {
        tables: &[b"CUPTI_ACTIVITY_KIND", b"NVTX_EVENTS", b"TARGET_INFO_SESSION"],
        also: b"",
        found: "a report of Nsight Systems as a database",
        advice: "convert it with nsys2json: `nsys2json -f CAPTURE -o trace.json`",
    },
    Database {
        tables: &[b"rocpd_"],
        also: b"",
        found: "a profile of ROCm (rocpd)",
        advice: "convert it with `rocpd2pftrace -i CAPTURE`, and open the .pftrace",
    },
];

pub(super) const EXTENSIONS: &[NamedFormat] = &[
    // Brotli has no first bytes of its own.
    NamedFormat { extension: "br", found: "a file compressed by Brotli", advice: "unpack it with `brotli -dk FILE`" },
    NamedFormat { extension: "etl", found: ETL[0], advice: ETL[1] },
    NamedFormat { extension: "otf2", found: OTF2[0], advice: OTF2[1] },
    NamedFormat { extension: "utrace", found: UTRACE[0], advice: UTRACE[1] },
    NamedFormat { extension: "nsys-rep", found: NSYS[0], advice: NSYS[1] },
    NamedFormat { extension: "qdrep", found: NSYS[0], advice: NSYS[1] },
    NamedFormat { extension: "wpix", found: PIX[0], advice: PIX[1] },
    NamedFormat {
        extension: "vtune",
        found: "a result of Intel VTune",
        advice: "VTune shows it; convert its report of call stacks as comma-separated values with `stackcollapse-vtune.pl`, of the FlameGraph scripts",
    },
    NamedFormat { extension: "caperf", found: UPROF[0], advice: UPROF[1] },
    NamedFormat { extension: "prd", found: UPROF[0], advice: UPROF[1] },
    NamedFormat {
        extension: "rgp",
        found: "a profile of Radeon GPU Profiler",
        advice: "the tool that recorded it shows it; no known tool converts it",
    },
    NamedFormat {
        extension: "binlog",
        found: "a binary log of MSBuild",
        advice: "the MSBuild Structured Log Viewer shows it; no known tool converts it",
    },
    NamedFormat {
        extension: "ue4stats",
        found: "statistics of Unreal Engine",
        advice: "Unreal Frontend shows them; no known tool converts them",
    },
    NamedFormat {
        extension: "jps",
        found: "a snapshot of JProfiler",
        advice: "JProfiler shows it; record with async-profiler's `asprof -f profile.collapsed PID` instead",
    },
    NamedFormat { extension: "dtp", found: DOTTRACE[0], advice: DOTTRACE[1] },
    NamedFormat { extension: "dtt", found: DOTTRACE[0], advice: DOTTRACE[1] },
    NamedFormat {
        extension: "ncu-rep",
        found: "a report of Nsight Compute",
        advice: "it profiles single kernels and has no timeline; `nsys profile` records one",
    },
];

pub(super) const FOLDERS: &[FolderFormat] = &[
    FolderFormat { files: &["data", "data.0"], found: THREADED[0], advice: THREADED[1] },
    FolderFormat {
        files: &["data", "kcore_dir"],
        found: "a folder of `perf record --kcore`",
        advice: "open the file `data` in it, which is read",
    },
    FolderFormat { files: &["metadata"], found: CTF[0], advice: CTF[1] },
    FolderFormat {
        files: &["tracks.parquet", "stacks.parquet", "losses.parquet"],
        found: "a folder of tables that Longspan wrote (Parquet)",
        advice: OWN_TABLE,
    },
    FolderFormat {
        files: &["version", "events", "mmaps"],
        found: "a recording of rr",
        advice: "`rr replay FOLDER` replays it; no known tool converts it",
    },
    FolderFormat {
        files: &["log.xml", "map.xml"],
        found: "an experiment of gprofng",
        advice: "`gprofng display text -functions FOLDER` prints it; record with `perf record -g PROGRAM` instead",
    },
    FolderFormat {
        files: &["captured.xml", "session.xml"],
        found: "a capture of Arm Streamline",
        advice: "Streamline shows it; no known tool converts it",
    },
    FolderFormat {
        files: &["meta.db", "profile.db"],
        found: "a database of HPCToolkit",
        advice: "hpcviewer shows it; no known tool converts it",
    },
    FolderFormat {
        files: &["Info.plist", "Data"],
        found: "a result of Xcode's tests (xcresult)",
        advice: "it has no timeline; `xcrun xcresulttool` prints it",
    },
    FolderFormat { files: &["traces.otf2", "traces.def"], found: OTF2[0], advice: OTF2[1] },
    FolderFormat {
        files: &["Trace1.run"],
        found: "a trace of Apple's Instruments",
        advice: "open it in Instruments, copy its call tree, or record with `samply record` instead",
    },
];
