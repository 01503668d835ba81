"""Writes the table of field numbers that the tests compare the constants of src/formats/{perfetto,otlp}/fields.rs with.

The definitions are the descriptors that Perfetto and OpenTelemetry publish with their Python packages:

    pip install --target FOLDER perfetto==0.59.1 opentelemetry-proto==1.45.2
    pip install --target OLDER perfetto==0.16.0
    python3 tests/proto/proto_fields.py FOLDER > tests/proto/proto_fields.csv
    python3 tests/proto/proto_fields.py OLDER --moved >> tests/proto/proto_fields.csv

Perfetto has moved some messages to Android, so the second run takes them from an older package, with their fields in
the messages that contain them.

A row is a message, a field and its number, or an enumeration, a value and its number. The messages below are those that
the readers and the writer use.
"""

import importlib
import sys

PERFETTO = """
Trace TracePacket TracePacket.SequenceFlags TracePacketDefaults TrackEventDefaults
InternedData InternedString EventCategory EventName DebugAnnotationName DebugAnnotationValueTypeName LogMessageBody HistogramName
TrackEvent TrackEvent.Type TrackEvent.InlineCallstack TrackEvent.InlineCallstack.Frame
TrackEvent.LegacyEvent TrackEvent.LegacyEvent.FlowDirection TrackEvent.LegacyEvent.InstantEventScope
DebugAnnotation DebugAnnotation.NestedValue DebugAnnotation.NestedValue.NestedType
SourceLocation TaskExecution LogMessage
TrackDescriptor TrackDescriptor.ProcessOrdering TrackDescriptor.ThreadOrdering TrackDescriptor.ChildTracksOrdering TrackDescriptor.SiblingMergeBehavior
CounterDescriptor CounterDescriptor.BuiltinCounterType CounterDescriptor.Unit ProcessDescriptor ProcessDescriptor.ChromeProcessType ChromeProcessDescriptor ThreadDescriptor
ProcessTree ProcessTree.Process ProcessTree.Thread SystemInfo Utsname
TranslationTable SliceNameTranslationTable SliceNameTranslationTable.RawToDeobfuscatedNameEntry
ProcessTrackNameTranslationTable
ClockSnapshot ClockSnapshot.Clock ClockSnapshot.Clock.BuiltinClocks
Callstack Frame Mapping PerfSample StreamingProfilePacket
PerfSampleDefaults PerfEvents.Timebase FollowerEvent PerfEvents.Tracepoint PerfEvents.Counter Profiling.CpuMode
FtraceEventBundle FtraceEventBundle.CompactSched FtraceClock FtraceEvent PrintFtraceEvent CpuFrequencyFtraceEvent
SchedSwitchFtraceEvent SchedWakingFtraceEvent SchedWakeupFtraceEvent SchedWakeupNewFtraceEvent
SchedBlockedReasonFtraceEvent BinderTransactionFtraceEvent BinderTransactionReceivedFtraceEvent BinderReturnFtraceEvent
GenericKernelTaskStateEvent GenericKernelTaskStateEvent.TaskStateEnum GenericKernelCpuFrequencyEvent
GenericKernelTaskRenameEvent CpuFrequencyLimitsFtraceEvent CpuIdleFtraceEvent GpuFrequencyFtraceEvent
SchedCpuUtilCfsFtraceEvent TracingMarkWriteFtraceEvent SdeTracingMarkWriteFtraceEvent DpuTracingMarkWriteFtraceEvent
G2dTracingMarkWriteFtraceEvent MaliTracingMarkWriteFtraceEvent LwisTracingMarkWriteFtraceEvent
SamsungTracingMarkWriteFtraceEvent BatteryCounters SysEnterFtraceEvent SysExitFtraceEvent TaskNewtaskFtraceEvent TaskRenameFtraceEvent
ClockSetRateFtraceEvent SoftirqEntryFtraceEvent IrqHandlerEntryFtraceEvent IrqHandlerExitFtraceEvent
MmVmscanDirectReclaimBeginFtraceEvent MmVmscanDirectReclaimEndFtraceEvent RssStatFtraceEvent
RssStatThrottledFtraceEvent DmaHeapStatFtraceEvent IonStatFtraceEvent GpuMemTotalFtraceEvent
ThermalTemperatureFtraceEvent CdevUpdateFtraceEvent TcpRetransmitSkbFtraceEvent NapiGroReceiveEntryFtraceEvent
NapiGroReceiveExitFtraceEvent UfshcdCommandFtraceEvent UfshcdClkGatingFtraceEvent DmaFenceWaitStartFtraceEvent
F2fsIostatFtraceEvent V4l2QbufFtraceEvent FuncgraphEntryFtraceEvent FuncgraphExitFtraceEvent CmaAllocStartFtraceEvent
CmaAllocInfoFtraceEvent KprobeEvent DrmSchedJobFtraceEvent DrmSchedJobQueueFtraceEvent ClockEnableFtraceEvent
ClockDisableFtraceEvent SoftirqExitFtraceEvent V4l2DqbufFtraceEvent DmaFenceWaitEndFtraceEvent KprobeEvent.KprobeType
DrmRunJobFtraceEvent DrmSchedJobRunFtraceEvent DrmSchedProcessJobFtraceEvent DrmSchedJobDoneFtraceEvent
DmaFenceInitFtraceEvent DmaFenceEmitFtraceEvent DmaFenceSignaledFtraceEvent NetifReceiveSkbFtraceEvent
NetDevXmitFtraceEvent InetSockSetStateFtraceEvent FtraceEventBundle.GenericEventDescriptor GenericFtraceEvent
GenericFtraceEvent.Field ProcessStats ProcessStats.Process Trigger ChromeTrigger AndroidLogPacket
AndroidLogPacket.LogEvent SysStats.CpuTimes SysStats.InterruptCount SysStats.DevfreqValue SysStats.BuddyInfo
SysStats.DiskStat SysStats.PsiSample SysStats.PsiSample.PsiResource SysStats.ThermalZone SysStats.CpuIdleState
SysStats.CpuIdleStateEntry SysStats.SlabInfo
SysStats SysStats.MeminfoValue SysStats.VmstatValue PowerRails PowerRails.RailDescriptor PowerRails.EnergyData InitialDisplayState
ExtensionDescriptor FileDescriptorSet FileDescriptorProto DescriptorProto EnumDescriptorProto EnumValueDescriptorProto
GraphicsFrameEvent GraphicsFrameEvent.BufferEvent GpuCounterEvent GpuCounterEvent.GpuCounter
GpuCounterDescriptor GpuCounterDescriptor.GpuCounterSpec InternedGpuCounterDescriptor InternedGraphicsContext
GpuLog GpuLog.Severity GpuMemTotalEvent GenericGpuFrequencyEvent GpuRenderStageEvent
GpuRenderStageEvent.ExtraData GpuRenderStageEvent.Specifications
GpuRenderStageEvent.Specifications.ContextSpec GpuRenderStageEvent.Specifications.Description VulkanApiEvent
VulkanApiEvent.VkDebugUtilsObjectName VulkanApiEvent.VkQueueSubmit AndroidSystemProperty
AndroidSystemProperty.PropertyValue CpuPerUidData AndroidEnergyEstimationBreakdown
AndroidEnergyEstimationBreakdown.EnergyUidBreakdown AndroidEnergyConsumerDescriptor AndroidEnergyConsumer
EntityStateResidency EntityStateResidency.PowerEntityState EntityStateResidency.StateResidency
KernelWakelockData KernelWakelockData.Wakelock KernelWakelockData.Wakelock.Type EtwTraceEventBundle
EtwTraceEvent CSwitchEtwEvent CSwitchEtwEvent.OldThreadState ReadyThreadEtwEvent MemInfoEtwEvent
FileIoCreateEtwEvent FileIoReadWriteEtwEvent FileIoSimpleOpEtwEvent FileIoInfoEtwEvent FileIoDirEnumEtwEvent
FileIoOpEndEtwEvent I2cReadFtraceEvent WorkqueueExecuteStartFtraceEvent KgslAdrenoCmdbatchQueuedFtraceEvent
KgslAdrenoCmdbatchRetiredFtraceEvent KgslAdrenoCmdbatchSyncFtraceEvent AndroidFsDatareadStartFtraceEvent
AndroidFsDatareadEndFtraceEvent BlockIoStartFtraceEvent DevicePmCallbackStartFtraceEvent
GpuWorkPeriodFtraceEvent KfreeSkbFtraceEvent RpmStatusFtraceEvent SuspendResumeFtraceEvent
SuspendResumeMinimalFtraceEvent MarkVictimFtraceEvent LowmemoryKillFtraceEvent VirtioVideoCmdFtraceEvent
VirtioVideoResourceQueueFtraceEvent WakeupSourceActivateFtraceEvent MmAllocContigMigrateRangeInfoFtraceEvent
KgslGpuFrequencyFtraceEvent DevfreqFrequencyFtraceEvent ClkSetRateFtraceEvent OomScoreAdjUpdateFtraceEvent
MmEventRecordFtraceEvent FastrpcDmaStatFtraceEvent VirtioVideoCmdDoneFtraceEvent
VirtioVideoResourceQueueDoneFtraceEvent BlockIoDoneFtraceEvent BlockRqIssueFtraceEvent
BlockRqCompleteFtraceEvent WakeupSourceDeactivateFtraceEvent AndroidFsDatawriteStartFtraceEvent
AndroidFsDatawriteEndFtraceEvent I2cWriteFtraceEvent DevicePmCallbackEndFtraceEvent
VirtioGpuCmdQueueFtraceEvent VirtioGpuCmdResponseFtraceEvent
PanelWriteGenericFtraceEvent F2fsIostatLatencyFtraceEvent ParamSetValueCpmFtraceEvent FwtpPerfettoCounterFtraceEvent
FwtpPerfettoSliceFtraceEvent FileIoPathOperationEtwEvent DiskIoEtwEvent VulkanMemoryEvent VulkanMemoryEvent.Source VulkanMemoryEvent.Operation
GenericKernelProcessTree GenericKernelProcessTree.Process GenericKernelProcessTree.Thread InternedGpuRenderStageSpecification ProfilePacket ProfilePacket.ProcessHeapSamples ProfilePacket.HeapSample StatsdAtom SystemdJournaldEvent
ChromeStudyTranslationTable ChromeStudyTranslationTable.HashToNameEntry
FieldDescriptorProto FieldDescriptorProto.Type FieldDescriptorProto.Label
"""

# Messages that Perfetto has moved to Android.
MOVED = """
FrameTimelineEvent FrameTimelineEvent.ExpectedDisplayFrameStart FrameTimelineEvent.ActualDisplayFrameStart
FrameTimelineEvent.ExpectedSurfaceFrameStart FrameTimelineEvent.ActualSurfaceFrameStart
FrameTimelineEvent.FrameEnd NetworkPacketEvent NetworkPacketBundle NetworkPacketContext TrafficDirection
AppWakelockBundle AppWakelockInfo
"""

# Their fields in other messages.
MOVED_FIELDS = {
    "TracePacket": "heap_graph frame_timeline_event network_packet network_packet_bundle app_wakelock_bundle",
    "InternedData": "packet_context app_wakelock_info",
}

# Modules of the packages, the package of their messages, and the messages.
SOURCES = [
    ("perfetto.protos.perfetto.trace.perfetto_trace_pb2", "perfetto.protos", PERFETTO),
    (
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
        "opentelemetry.proto.collector.trace.v1",
        "ExportTraceServiceRequest",
    ),
    (
        "opentelemetry.proto.trace.v1.trace_pb2",
        "opentelemetry.proto.trace.v1",
        "ResourceSpans ScopeSpans Span Span.SpanKind Span.Event Span.Link Status Status.StatusCode",
    ),
    (
        "opentelemetry.proto.common.v1.common_pb2",
        "opentelemetry.proto.common.v1",
        "AnyValue ArrayValue KeyValueList KeyValue InstrumentationScope",
    ),
    ("opentelemetry.proto.resource.v1.resource_pb2", "opentelemetry.proto.resource.v1", "Resource"),
    ("opentelemetry.proto.metrics.v1.metrics_pb2", "opentelemetry.proto.metrics.v1", "Metric"),
    ("opentelemetry.proto.logs.v1.logs_pb2", "opentelemetry.proto.logs.v1", "LogRecord"),
]


def rows_of(file, package):
    """The rows of every message and enumeration of a file, by full name."""
    rows = {}

    def enumeration(descriptor):
        rows[descriptor.full_name] = [(value.name, value.number) for value in descriptor.values]

    def message(descriptor):
        rows[descriptor.full_name] = [(field.name, field.number) for field in descriptor.fields]
        for nested in descriptor.nested_types:
            message(nested)
        for nested in descriptor.enum_types:
            enumeration(nested)

    for descriptor in file.message_types_by_name.values():
        message(descriptor)
    for descriptor in file.enum_types_by_name.values():
        enumeration(descriptor)
    return {name.removeprefix(package + "."): entries for name, entries in rows.items()}


def print_moved():
    module, package, _ = SOURCES[0]
    rows = rows_of(importlib.import_module(module).DESCRIPTOR, package)
    for name in [*MOVED.split(), *MOVED_FIELDS]:
        for field, number in rows[name]:
            if field in MOVED_FIELDS.get(name, field).split():
                print(f"{package}.{name},{field},{number}")


def main():
    sys.path.insert(0, sys.argv[1])
    if sys.argv[-1] == "--moved":
        return print_moved()
    print("message,field,number")
    for module, package, names in SOURCES:
        rows = rows_of(importlib.import_module(module).DESCRIPTOR, package)
        for name in names.split():
            for field, number in rows[name]:
                print(f"{package}.{name},{field},{number}")


main()
