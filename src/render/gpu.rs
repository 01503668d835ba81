//! The GPU, or a software renderer in its place. Reports its loss; never panics.

use std::sync::{Arc, OnceLock};

/// A device with its queue.
#[derive(Debug, Clone)]
pub(crate) struct Gpu {
    pub(crate) instance: wgpu::Instance,
    pub(crate) adapter: wgpu::Adapter,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// The reason why the device no longer draws.
    lost: Arc<OnceLock<String>>,
}

/// Error of using the GPU.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// There is neither a GPU driver nor a software renderer.
    #[error(
        "no graphics driver found ({source}); on Debian and Ubuntu `apt install mesa-vulkan-drivers` installs one that works on any machine"
    )]
    NoAdapter { source: wgpu::RequestAdapterError },
    /// The driver refuses to create a device.
    #[error("the graphics driver {adapter} refuses a device: {source}")]
    NoDevice { adapter: String, source: wgpu::RequestDeviceError },
    /// The window cannot be drawn on.
    #[error(
        "no graphics driver can draw on the window ({0}); on Debian and Ubuntu `apt install mesa-vulkan-drivers` installs one that works on any machine"
    )]
    NoSurface(#[from] wgpu::CreateSurfaceError),
    /// The driver supports no usable format of the window.
    #[error("the graphics driver {adapter} offers no way to show pixels in this window")]
    NoFormat { adapter: String },
    /// The GPU was lost while drawing.
    #[error("the GPU device was lost: {reason}")]
    Lost { reason: String },
    /// The picture exceeds the texture limit of the GPU.
    #[error("an image of {width} x {height} pixels is larger than this driver's limit of {limit}")]
    TooLarge { width: u32, height: u32, limit: u32 },
}

impl Gpu {
    /// Creates a device for drawing without a window. Returns [`GpuError::NoAdapter`] or [`GpuError::NoDevice`].
    pub(crate) fn headless() -> Result<Self, GpuError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        Self::from_instance(instance, None)
    }

    /// Creates a device that can draw on `surface`. Returns [`GpuError::NoAdapter`] or [`GpuError::NoDevice`].
    pub(crate) fn from_instance(
        instance: wgpu::Instance,
        surface: Option<&wgpu::Surface<'_>>,
    ) -> Result<Self, GpuError> {
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: surface,
            ..wgpu::RequestAdapterOptions::default()
        }))
        .map_err(|source| GpuError::NoAdapter { source })?;
        let base = if adapter.get_info().backend == wgpu::Backend::Gl {
            wgpu::Limits::downlevel_webgl2_defaults()
        } else {
            wgpu::Limits::downlevel_defaults()
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("longspan"),
            // Only textures need to be large, for pictures and for windows across many screens.
            required_limits: base.using_resolution(adapter.limits()),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|source| GpuError::NoDevice { adapter: adapter.get_info().name, source })?;
        let lost = Arc::new(OnceLock::new());
        let lost_slot = Arc::clone(&lost);
        device.set_device_lost_callback(move |reason, message| {
            // Dropping a device reports it as destroyed, which is not a loss.
            if reason != wgpu::DeviceLostReason::Destroyed {
                lost_slot.set(message).ok(); // the first reason is the relevant one
            }
        });
        let lost_slot = Arc::clone(&lost);
        // Without a handler wgpu panics; with one, the renderer is recreated as after a lost device.
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lost_slot.set(error.to_string()).ok(); // the first reason is the relevant one
        }));
        Ok(Self { instance, adapter, device, queue, lost })
    }

    /// Returns why this device no longer draws and must be replaced; `None` while it works.
    #[must_use]
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Waits until all submitted work is done. Returns [`GpuError::Lost`] if the GPU is lost meanwhile.
    pub(crate) fn finish(&self) -> Result<(), GpuError> {
        let done = self.device.poll(wgpu::PollType::wait_indefinitely());
        done.map(drop).map_err(|error| GpuError::Lost { reason: error.to_string() })
    }

    /// Returns whether rendering is done in software, so that a frame should have fewer rectangles.
    #[must_use]
    pub(crate) fn is_software(&self) -> bool {
        self.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }

    /// Returns the name of the GPU and its API.
    #[must_use]
    pub(crate) fn name(&self) -> String {
        let info = self.adapter.get_info();
        format!("{} ({:?})", info.name, info.backend)
    }

    /// Returns the maximum width and height of a texture.
    #[must_use]
    pub(crate) fn texture_side_max(&self) -> u32 {
        self.device.limits().max_texture_dimension_2d
    }
}
