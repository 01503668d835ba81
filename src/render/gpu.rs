//! The graphics card, or a processor in its place. Says so when it is lost; never panics over it.

use std::sync::{Arc, OnceLock};

/// A device with its queue.
#[derive(Debug, Clone)]
pub(crate) struct Gpu {
    pub(crate) instance: wgpu::Instance,
    pub(crate) adapter: wgpu::Adapter,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// Why it no longer draws.
    lost: Arc<OnceLock<String>>,
}

/// Why there is nothing to draw with.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// Neither a graphics driver nor one in software.
    #[error(
        "no graphics driver found ({source}); on Debian and Ubuntu `apt install mesa-vulkan-drivers` brings one that works on any machine"
    )]
    NoAdapter { source: wgpu::RequestAdapterError },
    /// The driver is there and refuses.
    #[error("the graphics driver {adapter} refuses a device: {source}")]
    NoDevice { adapter: String, source: wgpu::RequestDeviceError },
    /// The window cannot be drawn on.
    #[error(
        "no graphics driver can draw on the window ({0}); on Debian and Ubuntu `apt install mesa-vulkan-drivers` brings one that works on any machine"
    )]
    NoSurface(#[from] wgpu::CreateSurfaceError),
    /// The driver offers no format that this driver's window takes.
    #[error("the graphics driver {adapter} offers no way to show pixels in this window")]
    NoFormat { adapter: String },
    /// The card was lost while drawing.
    #[error("the graphics card was lost: {reason}")]
    Lost { reason: String },
    /// The picture is larger than the card can hold.
    #[error("a picture of {width} x {height} pixels is larger than this driver's limit of {limit}")]
    TooLarge { width: u32, height: u32, limit: u32 },
}

impl Gpu {
    /// A device for drawing with no window. Fails with [`GpuError::NoAdapter`] or [`GpuError::NoDevice`].
    pub(crate) fn headless() -> Result<Self, GpuError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        Self::from_instance(instance, None)
    }

    /// A device that can draw on `surface`. Fails with [`GpuError::NoAdapter`] or [`GpuError::NoDevice`].
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
            // Only textures need to be large: pictures and windows of many screens.
            required_limits: base.using_resolution(adapter.limits()),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|source| GpuError::NoDevice { adapter: adapter.get_info().name, source })?;
        let lost = Arc::new(OnceLock::new());
        let said = Arc::clone(&lost);
        device.set_device_lost_callback(move |reason, message| {
            // A device that is dropped reports itself as destroyed, which is no loss.
            if reason != wgpu::DeviceLostReason::Destroyed {
                said.set(message).ok(); // the first reason is the one that matters
            }
        });
        let said = Arc::clone(&lost);
        // Without a handler wgpu panics; with one, the renderer is built again as if the device were lost.
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            said.set(error.to_string()).ok(); // the first reason is the one that matters
        }));
        Ok(Self { instance, adapter, device, queue, lost })
    }

    /// Why this device no longer draws and must be replaced; `None` while it draws.
    #[must_use]
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Whether a processor draws instead of a card: a frame must then have fewer rectangles.
    #[must_use]
    pub(crate) fn is_software(&self) -> bool {
        self.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }

    /// The name of the card and the interface through which it is used.
    #[must_use]
    pub(crate) fn name(&self) -> String {
        let info = self.adapter.get_info();
        format!("{} ({:?})", info.name, info.backend)
    }

    /// The largest width and height of a texture.
    #[must_use]
    pub(crate) fn texture_side_max(&self) -> u32 {
        self.device.limits().max_texture_dimension_2d
    }
}
