//! Jobs of GPU schedulers, and fences of DMA buffers: spans on a track for each ring and timeline. Both run in order,
//! so a job begins when the previous job is done.

use super::ftrace::SystemEventBuilder;
use super::kernel_fields::{
    dma_fence_event, drm_done_event, drm_process_event, drm_run_event, drm_start_event, ftrace_event,
};
use super::kernel_names::KernelEvent;
use super::kernel_state::{Fence, QueuedJob};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Event, EventKind, Loss};

/// Limit for jobs and fences in flight; drivers queue several hundred.
const IN_FLIGHT_MAX: usize = 1 << 16;

impl QueuedJob {
    /// Returns the name of its span, and the argument key of its number.
    fn shown(self) -> (&'static str, &'static str) {
        match self.fence {
            Fence::Address(_) => ("job", "gpu sched job"),
            Fence::Job(..) => ("job", "fence seqno"),
            Fence::Buffer(..) => ("fence", "fence seqno"),
        }
    }
}

impl KernelEvent<'_> {
    /// Returns whether the event is of a GPU job or a fence.
    pub(super) fn is_of_gpu(&self) -> bool {
        matches!(
            self.number,
            ftrace_event::DRM_RUN_JOB
                | ftrace_event::DRM_SCHED_JOB_RUN
                | ftrace_event::DRM_SCHED_PROCESS_JOB
                | ftrace_event::DRM_SCHED_JOB_DONE
                | ftrace_event::DMA_FENCE_INIT
                | ftrace_event::DMA_FENCE_EMIT
                | ftrace_event::DMA_FENCE_SIGNALED
        )
    }
}

impl SystemEventBuilder<'_> {
    /// Queues the job of an event, or ends it.
    pub(super) fn gpu_event(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let number = |field| event.bytes.number(field);
        let text = |field| event.bytes.text(field);
        let buffer = || {
            let (context, seqno) = (number(dma_fence_event::CONTEXT), number(dma_fence_event::SEQNO));
            let track = format!("fence-{}-{context}", text(dma_fence_event::TIMELINE));
            (QueuedJob { fence: Fence::Buffer(context, seqno), number: seqno }, track)
        };
        match event.number {
            ftrace_event::DRM_RUN_JOB => {
                let job = QueuedJob {
                    fence: Fence::Address(number(drm_run_event::FENCE)),
                    number: number(drm_run_event::ID),
                };
                self.queue_job(ts_ns, job, &format!("sched-{}", text(drm_run_event::NAME)));
            }
            ftrace_event::DRM_SCHED_JOB_RUN => {
                let seqno = number(drm_start_event::FENCE_SEQNO);
                let fence = Fence::Job(number(drm_start_event::FENCE_CONTEXT), seqno);
                let track = format!("sched-{}", text(drm_start_event::NAME));
                self.queue_job(ts_ns, QueuedJob { fence, number: seqno }, &track);
            }
            ftrace_event::DRM_SCHED_PROCESS_JOB => {
                self.end_by(ts_ns, Fence::Address(number(drm_process_event::FENCE)), event);
            }
            ftrace_event::DRM_SCHED_JOB_DONE => {
                let fence = Fence::Job(number(drm_done_event::FENCE_CONTEXT), number(drm_done_event::FENCE_SEQNO));
                self.end_by(ts_ns, fence, event);
            }
            // Some drivers do not emit fences: their fences run from the initialisation.
            ftrace_event::DMA_FENCE_INIT => {
                let (job, track) = buffer();
                if !self.state.job_queues.emitting.contains(&number(dma_fence_event::CONTEXT)) {
                    self.queue(ts_ns, job, &track);
                }
            }
            ftrace_event::DMA_FENCE_EMIT => {
                let (job, track) = buffer();
                let emitting = &mut self.state.job_queues.emitting;
                if emitting.len() < IN_FLIGHT_MAX {
                    emitting.insert(number(dma_fence_event::CONTEXT));
                }
                self.queue(ts_ns, job, &track);
            }
            _ => self.end_by(ts_ns, buffer().0.fence, event),
        }
    }

    /// Queues a job. A fence still in flight belongs to a job whose end was lost.
    fn queue_job(&mut self, ts_ns: i64, job: QueuedJob, track: &str) {
        self.end_job(ts_ns, job.fence);
        self.queue(ts_ns, job, track);
    }

    /// Ends the job of a fence. The end of a job that began before the recording is an instant.
    fn end_by(&mut self, ts_ns: i64, fence: Fence, event: &KernelEvent<'_>) {
        if !self.end_job(ts_ns, fence) {
            self.push_instant(ts_ns, event);
        }
    }

    fn queue(&mut self, ts_ns: i64, job: QueuedJob, track: &str) {
        let gpu = &mut self.state.job_queues;
        if gpu.track_of.contains_key(&job.fence) {
            return; // emitted after it was initialised
        }
        if gpu.track_of.len() >= IN_FLIGHT_MAX {
            return self.batch.lose(Loss::OverLimit, self.pos);
        }
        gpu.track_of.insert(job.fence, track.into());
        let queue = gpu.queues.entry(track.into()).or_default();
        let is_first = queue.is_empty();
        queue.push_back(job);
        if is_first {
            self.push_job(ts_ns, EventKind::Begin, job, track);
        }
    }

    /// Ends the job of a fence and all jobs queued before it, and begins the next job. Returns false if none is in
    /// flight.
    fn end_job(&mut self, ts_ns: i64, fence: Fence) -> bool {
        let Some(track) = self.state.job_queues.track_of.remove(&fence) else { return false };
        loop {
            let Some(queue) = self.state.job_queues.queues.get_mut(&track) else { return true };
            let (done, next) = (queue.pop_front(), queue.front().copied());
            let Some(done) = done else { return true };
            if next.is_none() {
                self.state.job_queues.queues.remove(&track);
            }
            self.state.job_queues.track_of.remove(&done.fence);
            self.push_job(ts_ns, EventKind::End, done, &track);
            if let Some(next) = next {
                self.push_job(ts_ns, EventKind::Begin, next, &track);
            }
            if done.fence == fence {
                return true;
            }
        }
    }

    fn push_job(&mut self, ts_ns: i64, kind: EventKind, job: QueuedJob, track: &str) {
        let (name, key) = job.shown();
        let mut detail = 0;
        if kind == EventKind::Begin {
            let args = &mut self.state.args;
            args.clear();
            args.number(key, job.number);
            detail = self.batch.args(args.finish());
        }
        let track = self.gpu_track(track);
        let name = self.batch.name(name.as_bytes(), Some(b"graphics"), self.pos);
        self.batch.push(Event { detail, ..Event::new(ts_ns, kind, track, name) });
    }
}
