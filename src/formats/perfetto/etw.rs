//! Events of Windows (ETW): context switches and wakeups as scheduling, operations on files as spans of their process,
//! and memory as counters.

use super::clocks::FTRACE_CLOCK;
use super::ftrace::SystemEventBuilder;
use super::kernel_state::FileOperation;
use super::limits::has_room;
use super::packet_events::ArgForm::{Known, Signed, Text, Unsigned};
use super::packet_events::{PacketArg, async_id, enum_name, write_args};
use super::packet_fields::{
    context_switch, disk_operation, etw_bundle, etw_event, file_create, file_enumeration, file_information,
    file_op_end, file_path_operation, file_read_write, file_simple_op, memory_information, old_thread_state,
    ready_thread,
};
use crate::formats::linux::scheduler::{SchedulerTask, TaskChange};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Id, Loss, LossValue};

/// Limit for operations that have not ended; systems have a few thousand.
const OPERATIONS_MAX: usize = 1 << 16;

/// Operations on files by the opcode of their event.
const OPERATIONS: &[(u64, &str)] = &[
    (64, "CreateFile"),
    (65, "Cleanup"),
    (66, "Close"),
    (67, "ReadFile"),
    (68, "WriteFile"),
    (69, "SetInformation"),
    (70, "DeleteFile"),
    (71, "RenameFile"),
    (72, "DirectoryEnumeration"),
    (73, "Flush"),
    (74, "QueryInformation"),
    (75, "FilesystemControlEvent"),
    (77, "DirectoryNotification"),
    (79, "DeletePath"),
    (80, "RenamePath"),
    (81, "SetLinkPath"),
];

/// Values of Windows' `FILE_INFORMATION_CLASS`.
const INFORMATION: &[(u64, &str)] = &[
    (1, "FileDirectoryInformation"),
    (2, "FileFullDirectoryInformation"),
    (3, "FileBothDirectoryInformation"),
    (4, "FileBasicInformation"),
    (5, "FileStandardInformation"),
    (6, "FileInternalInformation"),
    (7, "FileEaInformation"),
    (8, "FileAccessInformation"),
    (9, "FileNameInformation"),
    (10, "FileRenameInformation"),
    (11, "FileLinkInformation"),
    (12, "FileNamesInformation"),
    (13, "FileDispositionInformation"),
    (14, "FilePositionInformation"),
    (15, "FileFullEaInformation"),
    (16, "FileModeInformation"),
    (17, "FileAlignmentInformation"),
    (18, "FileAllInformation"),
    (19, "FileAllocationInformation"),
    (20, "FileEndOfFileInformation"),
    (21, "FileAlternateNameInformation"),
    (22, "FileStreamInformation"),
    (23, "FilePipeInformation"),
    (24, "FilePipeLocalInformation"),
    (25, "FilePipeRemoteInformation"),
    (26, "FileMailslotQueryInformation"),
    (27, "FileMailslotSetInformation"),
    (28, "FileCompressionInformation"),
    (29, "FileObjectIdInformation"),
    (30, "FileCompletionInformation"),
    (31, "FileMoveClusterInformation"),
    (32, "FileQuotaInformation"),
    (33, "FileReparsePointInformation"),
    (34, "FileNetworkOpenInformation"),
    (35, "FileAttributeTagInformation"),
    (36, "FileTrackingInformation"),
    (37, "FileIdBothDirectoryInformation"),
    (38, "FileIdFullDirectoryInformation"),
    (39, "FileValidDataLengthInformation"),
    (40, "FileShortNameInformation"),
    (64, "FileDispositionInformationEx"),
    (65, "FileRenameInformationEx"),
];

/// Operations of disks by the opcode of their event.
const DISK_OPERATIONS: &[(u64, &str)] = &[(10, "DiskRead"), (11, "DiskWrite"), (14, "DiskFlush")];

const DISK_ARGS: &[PacketArg] = &[
    PacketArg("Disk Number", disk_operation::DISK_NUMBER, Unsigned),
    PacketArg("Transfer Size", disk_operation::TRANSFER_SIZE, Unsigned),
    PacketArg("Byte Offset", disk_operation::BYTE_OFFSET, Signed),
    PacketArg("File Object", disk_operation::FILE_OBJECT, Unsigned),
    PacketArg("I/O Request Packet", disk_operation::IRP_PTR, Unsigned),
    PacketArg("Response Time", disk_operation::RESPONSE_TIME, Signed),
    PacketArg("Thread ID", disk_operation::ISSUING_THREAD_ID, Unsigned),
];

/// The message that starts an operation, with its fields.
struct OperationStart {
    event: FieldNumber,
    request: FieldNumber,
    thread: FieldNumber,
    opcode: Opcode,
    args: &'static [PacketArg],
}

/// The opcode of the operations that a message starts.
#[derive(Clone, Copy)]
enum Opcode {
    Field(FieldNumber),
    Always(u64),
}

const OPCODE_CREATE: u64 = 64;

const STARTS: &[OperationStart] = &[
    OperationStart {
        event: etw_event::FILE_IO_CREATE,
        request: file_create::IRP_PTR,
        thread: file_create::TTID,
        opcode: Opcode::Always(OPCODE_CREATE),
        args: &[
            PacketArg("I/O Request Packet", file_create::IRP_PTR, Unsigned),
            PacketArg("File Object", file_create::FILE_OBJECT, Unsigned),
            PacketArg("Thread ID", file_create::TTID, Unsigned),
            PacketArg("Create Options", file_create::CREATE_OPTIONS, Unsigned),
            PacketArg("File Attributes", file_create::FILE_ATTRIBUTES, Unsigned),
            PacketArg("Share Access", file_create::SHARE_ACCESS, Unsigned),
            PacketArg("Open Path", file_create::OPEN_PATH, Text),
        ],
    },
    OperationStart {
        event: etw_event::FILE_IO_READ_WRITE,
        request: file_read_write::IRP_PTR,
        thread: file_read_write::TTID,
        opcode: Opcode::Field(file_read_write::OPCODE),
        args: &[
            PacketArg("Offset", file_read_write::OFFSET, Unsigned),
            PacketArg("I/O Request Packet", file_read_write::IRP_PTR, Unsigned),
            PacketArg("File Object", file_read_write::FILE_OBJECT, Unsigned),
            PacketArg("File Key", file_read_write::FILE_KEY, Unsigned),
            PacketArg("Thread ID", file_read_write::TTID, Unsigned),
            PacketArg("I/O Size", file_read_write::IO_SIZE, Unsigned),
            PacketArg("I/O Flags", file_read_write::IO_FLAGS, Unsigned),
        ],
    },
    OperationStart {
        event: etw_event::FILE_IO_SIMPLE_OP,
        request: file_simple_op::IRP_PTR,
        thread: file_simple_op::TTID,
        opcode: Opcode::Field(file_simple_op::OPCODE),
        args: &[
            PacketArg("I/O Request Packet", file_simple_op::IRP_PTR, Unsigned),
            PacketArg("File Object", file_simple_op::FILE_OBJECT, Unsigned),
            PacketArg("File Key", file_simple_op::FILE_KEY, Unsigned),
            PacketArg("Thread ID", file_simple_op::TTID, Unsigned),
        ],
    },
    OperationStart {
        event: etw_event::FILE_IO_INFO,
        request: file_information::IRP_PTR,
        thread: file_information::TTID,
        opcode: Opcode::Field(file_information::OPCODE),
        args: &[
            PacketArg("I/O Request Packet", file_information::IRP_PTR, Unsigned),
            PacketArg("File Object", file_information::FILE_OBJECT, Unsigned),
            PacketArg("File Key", file_information::FILE_KEY, Unsigned),
            PacketArg("Disposition", file_information::EXTRA_INFO, Unsigned),
            PacketArg("Thread ID", file_information::TTID, Unsigned),
            PacketArg("Info Class", file_information::INFO_CLASS, Known(INFORMATION)),
        ],
    },
    OperationStart {
        event: etw_event::FILE_IO_PATH_OPERATION,
        request: file_path_operation::IRP_PTR,
        thread: file_path_operation::TTID,
        opcode: Opcode::Field(file_path_operation::OPCODE),
        args: &[
            PacketArg("I/O Request Packet", file_path_operation::IRP_PTR, Unsigned),
            PacketArg("File Object", file_path_operation::FILE_OBJECT, Unsigned),
            PacketArg("File Key", file_path_operation::FILE_KEY, Unsigned),
            PacketArg("Thread ID", file_path_operation::TTID, Unsigned),
            PacketArg("Info Class", file_path_operation::INFO_CLASS, Known(INFORMATION)),
            PacketArg("File Name", file_path_operation::FILE_NAME, Text),
        ],
    },
    OperationStart {
        event: etw_event::FILE_IO_DIR_ENUM,
        request: file_enumeration::IRP_PTR,
        thread: file_enumeration::TTID,
        opcode: Opcode::Field(file_enumeration::OPCODE),
        args: &[
            PacketArg("I/O Request Packet", file_enumeration::IRP_PTR, Unsigned),
            PacketArg("File Object", file_enumeration::FILE_OBJECT, Unsigned),
            PacketArg("File Key", file_enumeration::FILE_KEY, Unsigned),
            PacketArg("Thread ID", file_enumeration::TTID, Unsigned),
            PacketArg("Query Buffer Length", file_enumeration::LENGTH, Unsigned),
            PacketArg("Info Class", file_enumeration::INFO_CLASS, Known(INFORMATION)),
            PacketArg("File Index", file_enumeration::FILE_INDEX, Unsigned),
            PacketArg("Enumeration Path", file_enumeration::FILE_NAME, Text),
        ],
    },
];

const END_ARGS: &[PacketArg] = &[
    PacketArg("Extra Info", file_op_end::EXTRA_INFO, Unsigned),
    PacketArg("NT Status", file_op_end::NT_STATUS, Unsigned),
];

/// Counters of memory, in pages.
const MEMORY: &[(FieldNumber, &str)] = &[
    (memory_information::ZERO_PAGE_COUNT, "mem.zero_pages"),
    (memory_information::FREE_PAGE_COUNT, "mem.free_pages"),
    (memory_information::MODIFIED_PAGE_COUNT, "mem.modified_pages"),
    (memory_information::MODIFIED_NO_WRITE_PAGE_COUNT, "mem.modified_no_write_pages"),
    (memory_information::BAD_PAGE_COUNT, "mem.bad_pages"),
    (memory_information::MODIFIED_PAGE_COUNT_PAGE_FILE, "mem.modified_page_file_pages"),
    (memory_information::PAGED_POOL_PAGE_COUNT, "mem.paged_pool_pages"),
    (memory_information::NON_PAGED_POOL_PAGE_COUNT, "mem.non_paged_pool_pages"),
    (memory_information::MDL_PAGE_COUNT, "mem.mdl_pages"),
    (memory_information::COMMIT_PAGE_COUNT, "mem.commit_pages"),
];

impl SystemEventBuilder<'_> {
    /// Decodes the events of a packet, each with its time.
    pub(super) fn etw_bundle(&mut self, bytes: &[u8]) {
        self.state.begin(self.tracks.all_described());
        let cpu = bytes.number(etw_bundle::CPU);
        for event in bytes.repeated(etw_bundle::EVENT) {
            let raw = event.number(etw_event::TIMESTAMP);
            let time = self.clocks.time(self.sequence, Some(FTRACE_CLOCK), raw);
            let Some(ts_ns) = self.usable(time) else { continue };
            let cpu = event.value(etw_event::CPU).map_or(cpu, ProtoValue::number);
            let tid = event.signed(etw_event::THREAD_ID);
            for field in Fields::new(event) {
                if let ProtoValue::Bytes(content) = field.value {
                    self.etw_event((ts_ns, cpu, tid), field.number, content);
                }
            }
        }
    }

    fn etw_event(&mut self, (ts_ns, cpu, tid): (i64, u64, i64), number: FieldNumber, bytes: &[u8]) {
        match number {
            etw_event::C_SWITCH => self.context_switch(ts_ns, cpu, bytes),
            etw_event::READY_THREAD => {
                let readied = bytes.signed(ready_thread::T_THREAD_ID);
                let task = SchedulerTask { tid: readied, ..SchedulerTask::default() };
                self.state.scheduler.wake(self.batch, ts_ns, &task, Some(tid).filter(|&tid| tid != 0), self.pos);
            }
            etw_event::MEM_INFO => {
                for &(field, name) in MEMORY {
                    if let Some(pages) = bytes.value(field).map(ProtoValue::number) {
                        self.push_global(ts_ns, (name, "pages"), pages as f64);
                    }
                }
            }
            etw_event::DISK_IO => {
                let name = enum_name(bytes.number(disk_operation::OPCODE), DISK_OPERATIONS).unwrap_or("DiskOperation");
                self.state.args.clear();
                write_args(&mut self.state.args, bytes, DISK_ARGS);
                let track = self.global_track(&format!("Disk {}", bytes.number(disk_operation::DISK_NUMBER)));
                self.push_message(ts_ns, track, name.as_bytes(), Some(b"disk"));
            }
            etw_event::FILE_IO_OP_END => self.end_operation((ts_ns, tid), bytes),
            number => {
                if let Some(start) = STARTS.iter().find(|start| start.event == number) {
                    self.begin_operation(ts_ns, start, bytes);
                } else {
                    let value = LossValue::Number("ETW event", number.get().into());
                    self.batch.lose_value(Loss::IgnoredPacket, value, self.pos);
                }
            }
        }
    }

    /// Ends the run of a thread on a CPU, and begins the run of the next thread.
    fn context_switch(&mut self, ts_ns: i64, cpu: u64, bytes: &[u8]) {
        let state = bytes.value(context_switch::OLD_THREAD_STATE).map(ProtoValue::number);
        let state = state.unwrap_or_else(|| bytes.number(context_switch::OLD_THREAD_STATE_INT) >> 1);
        let state = match state {
            old_thread_state::INITIALIZED => TaskChange::Created,
            old_thread_state::READY
            | old_thread_state::RUNNING
            | old_thread_state::STANDBY
            | old_thread_state::DEFERRED_READY => TaskChange::Runnable,
            old_thread_state::TERMINATED => TaskChange::Destroyed,
            old_thread_state::WAITING => TaskChange::Sleeping,
            old_thread_state::TRANSITION => TaskChange::Uninterruptible,
            _ => TaskChange::Unknown,
        };
        let priority = |field| bytes.value(field).map(ProtoValue::zigzag);
        let (old, new) = (bytes.signed(context_switch::OLD_THREAD_ID), bytes.signed(context_switch::NEW_THREAD_ID));
        let (batch, pos) = (&mut *self.batch, self.pos);
        let scheduler = &mut self.state.scheduler;
        let task = SchedulerTask { tid: old, ..SchedulerTask::default() };
        scheduler.change(batch, (ts_ns, Some(cpu)), &task, state, pos);
        let priority = priority(context_switch::NEW_THREAD_PRIORITY);
        let task = SchedulerTask { tid: new, priority, ..SchedulerTask::default() };
        scheduler.change(batch, (ts_ns, Some(cpu)), &task, TaskChange::Running, pos);
    }

    /// Keeps an operation until it ends.
    fn begin_operation(&mut self, ts_ns: i64, start: &OperationStart, bytes: &[u8]) {
        let opcode = match start.opcode {
            Opcode::Field(field) => bytes.number(field),
            Opcode::Always(opcode) => opcode,
        };
        let name = enum_name(opcode, OPERATIONS).unwrap_or("FileOperation");
        let args = &mut self.state.args;
        args.clear();
        write_args(args, bytes, start.args);
        let operation = FileOperation { ts_ns, tid: bytes.signed(start.thread), name, args: args.json.as_str().into() };
        let operations = &mut self.state.devices.file_operations;
        let request = bytes.number(start.request);
        if !has_room(operations, &request, OPERATIONS_MAX) {
            return self.batch.lose(Loss::OverLimit, self.pos);
        }
        // A reused request has ended without an event.
        if let Some(open) = operations.insert(request, operation) {
            self.push_half_operation(&open);
        }
    }

    /// Adds the operation that ends. The end of an operation that began before the recording is an instant.
    fn end_operation(&mut self, (ts_ns, tid): (i64, i64), bytes: &[u8]) {
        let request = bytes.number(file_op_end::IRP_PTR);
        let Some(operation) = self.state.devices.file_operations.remove(&request) else {
            let args = &mut self.state.args;
            args.clear();
            write_args(args, bytes, END_ARGS);
            args.text("Missing Event", b"Start");
            let ended = FileOperation { ts_ns, tid, name: "EndOperation", args: args.json.as_str().into() };
            return self.push_operation_instant(&ended);
        };
        let args = &mut self.state.args;
        args.clear();
        args.json.push_str(&operation.args);
        write_args(args, bytes, END_ARGS);
        let process = self.process_of(operation.tid);
        let track = self.overlapping_track(process, "File I/O");
        let dur_ns = u64::try_from(ts_ns.saturating_sub(operation.ts_ns)).unwrap_or(0);
        let id = async_id("file", &[request, operation.ts_ns.cast_unsigned()]);
        self.push_async((operation.ts_ns, dur_ns), track, (operation.name, "file"), id);
    }

    /// Adds the operations that have not ended, as instants.
    pub(super) fn finish_operations(&mut self) {
        let operations = std::mem::take(&mut self.state.devices.file_operations);
        let mut operations: Vec<(u64, FileOperation)> = operations.into_iter().collect();
        operations.sort_unstable_by_key(|(request, operation)| (operation.ts_ns, *request));
        for (_, operation) in operations {
            self.push_half_operation(&operation);
        }
    }

    fn push_half_operation(&mut self, operation: &FileOperation) {
        let args = &mut self.state.args;
        args.clear();
        args.json.push_str(&operation.args);
        args.text("Missing Event", b"End");
        let args = args.json.as_str().into();
        self.push_operation_instant(&FileOperation { args, ..*operation });
    }

    fn push_operation_instant(&mut self, operation: &FileOperation) {
        self.state.args.clear();
        self.state.args.json.push_str(&operation.args);
        let process = self.process_of(operation.tid);
        let track = self.instant_track(process, "File I/O");
        self.push_message(operation.ts_ns, track, operation.name.as_bytes(), Some(b"file"));
    }

    /// Returns the process of a thread. An unknown process gets the number of the thread.
    fn process_of(&mut self, tid: i64) -> Id {
        let pid = self.pid_of(tid);
        self.tracks.process_now(pid)
    }
}
