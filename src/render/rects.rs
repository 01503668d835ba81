//! Draws rectangles, one instance each, in one draw call. The shader determines their appearance.

use std::sync::Arc;

use egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor};

use crate::scene::rects::Rect;

/// The shader, validated by a test without a GPU.
pub(crate) const SHADER: &str = include_str!("../../shaders/rects.wgsl");

/// Rectangles per buffer: 24 MiB, far below the 256 MiB that every driver supports.
const RECTS_PER_BUFFER_MAX: usize = 1 << 20;

/// The data that the GPU reads, laid out as in the shader.
pub(super) mod gpu_data {
    use bytemuck::{Pod, Zeroable};

    #[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
    #[repr(C)]
    pub(crate) struct RectInstance {
        /// Left, top, right, bottom, in pixels of the canvas.
        pub(crate) edges: [f32; 4],
        /// Red, green, blue and opacity.
        pub(crate) color: [u8; 4],
        /// The bits of a `RectStyle`.
        pub(crate) style: u32,
    }

    /// The uniforms of all rectangles.
    #[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
    #[repr(C)]
    pub(crate) struct Canvas {
        /// Size of the canvas in pixels.
        pub(crate) size_px: [f32; 2],
        /// Physical pixels per point.
        pub(crate) scale: f32,
        /// Pads the uniform to 16 bytes.
        pub(crate) padding: f32,
    }

    /// The attributes of [`RectInstance`], by location.
    pub(crate) const INSTANCE_ATTRIBUTES: [wgpu::VertexAttribute; 3] =
        wgpu::vertex_attr_array![0 => Float32x4, 1 => Unorm8x4, 2 => Uint32];

    const _: () = assert!(size_of::<RectInstance>() == 24, "no padding");
    const _: () = assert!(std::mem::offset_of!(RectInstance, color) == 16);
    const _: () = assert!(std::mem::offset_of!(RectInstance, style) == 20);
}

use gpu_data::{Canvas, INSTANCE_ATTRIBUTES, RectInstance};

/// The rectangles of a canvas, drawn among the window's widgets.
#[derive(Debug, Clone)]
pub(crate) struct Rects {
    /// Shared, so that an unchanged frame is not uploaded again.
    instances: Arc<[RectInstance]>,
    canvas: Canvas,
    layer: Layer,
}

/// A canvas of the window. Each keeps its instances until they are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Layer {
    #[default]
    Rows,
    Pinned,
    Derived,
}

#[cfg(test)]
thread_local! {
    static CONVERTED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Returns how often this thread has converted the rectangles of a frame. Each result is uploaded once.
#[cfg(test)]
pub(crate) fn converted() -> u64 {
    CONVERTED.get()
}

impl Rects {
    /// Converts the rectangles of a frame for a canvas of this size.
    #[must_use]
    pub(crate) fn new(rects: &[Rect], size_px: [f32; 2], scale: f32, layer: Layer) -> Self {
        #[cfg(test)]
        CONVERTED.set(CONVERTED.get() + 1);
        let instances = rects
            .iter()
            .map(|rect| RectInstance {
                edges: [rect.x0, rect.y0, rect.x1, rect.y1],
                color: rect.color.0,
                style: rect.style.0,
            })
            .collect();
        Self { instances, canvas: Canvas { size_px, scale, padding: 0.0 }, layer }
    }

    /// Returns the shape that draws the rectangles at `rect` of the window.
    pub(crate) fn shape(&self, rect: egui::Rect) -> egui::Shape {
        egui::Shape::Callback(egui_wgpu::Callback::new_paint_callback(rect, self.clone()))
    }
}

impl CallbackTrait for Rects {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(pipeline) = resources.get_mut::<RectPipeline>() {
            pipeline.upload(device, queue, self);
        }
        Vec::new()
    }

    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        resources: &CallbackResources,
    ) {
        if let Some(pipeline) = resources.get::<RectPipeline>() {
            pipeline.draw(pass, self.layer);
        }
    }
}

/// The compiled shader and the buffers of each canvas.
pub(super) struct RectPipeline {
    pipeline: wgpu::RenderPipeline,
    /// The buffers of each [`Layer`].
    layers: [LayerBuffers; 3],
}

/// The GPU buffers of a canvas.
struct LayerBuffers {
    canvas: wgpu::Buffer,
    bindings: wgpu::BindGroup,
    buffers: Vec<InstanceBuffer>,
    uploaded: Option<Arc<[RectInstance]>>,
}

struct InstanceBuffer {
    buffer: wgpu::Buffer,
    capacity: usize,
    count: u32,
}

impl RectPipeline {
    /// Compiles the shader for a target of this format.
    pub(super) fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("rects"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("canvas"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("rects"),
            layout: Some(&device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("rects"),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            })),
            vertex: wgpu::VertexState {
                module: &shader,
                entry_point: Some("corner"),
                buffers: &[Some(wgpu::VertexBufferLayout {
                    array_stride: size_of::<RectInstance>() as u64,
                    step_mode: wgpu::VertexStepMode::Instance,
                    attributes: &INSTANCE_ATTRIBUTES,
                })],
                compilation_options: wgpu::PipelineCompilationOptions::default(),
            },
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                ..wgpu::PrimitiveState::default()
            },
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: &shader,
                entry_point: Some("pixel"),
                targets: &[Some(wgpu::ColorTargetState {
                    format,
                    blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
                compilation_options: wgpu::PipelineCompilationOptions::default(),
            }),
            multiview_mask: None,
            cache: None,
        });
        Self { pipeline, layers: std::array::from_fn(|_| LayerBuffers::new(device, &layout)) }
    }

    fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, rects: &Rects) {
        self.layers[rects.layer as usize].upload(device, queue, rects);
    }

    fn draw(&self, pass: &mut wgpu::RenderPass<'static>, layer: Layer) {
        pass.set_pipeline(&self.pipeline);
        let layer = &self.layers[layer as usize];
        pass.set_bind_group(0, &layer.bindings, &[]);
        for buffer in layer.buffers.iter().filter(|buffer| buffer.count > 0) {
            pass.set_vertex_buffer(0, buffer.buffer.slice(..));
            pass.draw(0..4, 0..buffer.count);
        }
    }
}

impl LayerBuffers {
    fn new(device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> Self {
        let canvas = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("canvas"),
            size: size_of::<Canvas>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("canvas"),
            layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: canvas.as_entire_binding() }],
        });
        Self { canvas, bindings, buffers: Vec::new(), uploaded: None }
    }

    fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, rects: &Rects) {
        queue.write_buffer(&self.canvas, 0, bytemuck::bytes_of(&rects.canvas));
        if self.uploaded.as_ref().is_some_and(|uploaded| Arc::ptr_eq(uploaded, &rects.instances)) {
            return;
        }
        for buffer in &mut self.buffers {
            buffer.count = 0;
        }
        for (index, part) in rects.instances.chunks(RECTS_PER_BUFFER_MAX).enumerate() {
            if self.buffers.get(index).is_none_or(|buffer| buffer.capacity < part.len()) {
                // Powers of two make the cost of growth constant per rectangle; 4096 rectangles are 96 KiB.
                let capacity = part.len().next_power_of_two().clamp(4096, RECTS_PER_BUFFER_MAX);
                let fresh = InstanceBuffer { buffer: instance_buffer(device, capacity), capacity, count: 0 };
                self.buffers.truncate(index);
                self.buffers.push(fresh);
            }
            let Some(buffer) = self.buffers.get_mut(index) else { continue };
            queue.write_buffer(&buffer.buffer, 0, bytemuck::cast_slice(part));
            buffer.count = u32::try_from(part.len()).unwrap_or(0);
        }
        self.uploaded = Some(Arc::clone(&rects.instances));
    }
}

fn instance_buffer(device: &wgpu::Device, capacity: usize) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("rects"),
        size: (capacity * size_of::<RectInstance>()) as u64,
        usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use naga::{ScalarKind, TypeInner, VectorSize};

    use super::*;
    use crate::scene::color::{Rgba, Shade, contrast};
    use crate::scene::rects::RectStyle;

    fn module() -> naga::Module {
        let module =
            naga::front::wgsl::parse_str(SHADER).unwrap_or_else(|error| panic!("{}", error.emit_to_string(SHADER)));
        let mut validator =
            naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty());
        validator.validate(&module).expect("the shader is valid without any special capability");
        module
    }

    #[test]
    fn the_shader_declares_the_uniform_as_it_is_written() {
        let module = module();
        let members = module
            .types
            .iter()
            .find_map(|(_, ty)| match &ty.inner {
                TypeInner::Struct { members, span } if ty.name.as_deref() == Some("Canvas") => Some((members, *span)),
                _ => None,
            })
            .expect("the shader declares Canvas");
        let offsets: Vec<_> = members.0.iter().map(|member| (member.name.clone().unwrap(), member.offset)).collect();
        let expected = [
            ("size_px", offset_of!(Canvas, size_px)),
            ("scale", offset_of!(Canvas, scale)),
            ("padding", offset_of!(Canvas, padding)),
        ];
        assert_eq!(offsets, expected.map(|(name, offset)| (name.to_owned(), u32::try_from(offset).unwrap())));
        assert_eq!(members.1 as usize, size_of::<Canvas>());
    }

    #[test]
    fn the_shader_declares_the_attributes_as_they_are_laid_out() {
        let module = module();
        let entry = module.entry_points.iter().find(|entry| entry.name == "corner").expect("the vertex stage");
        for attribute in INSTANCE_ATTRIBUTES {
            let argument = entry
                .function
                .arguments
                .iter()
                .find(|argument| {
                    matches!(argument.binding, Some(naga::Binding::Location { location, .. }) if location == attribute.shader_location)
                })
                .expect("every attribute is taken");
            let kind = match module.types[argument.ty].inner {
                TypeInner::Vector { size: VectorSize::Quad, scalar } => (4, scalar.kind),
                TypeInner::Scalar(scalar) => (1, scalar.kind),
                ref other => panic!("{other:?}"),
            };
            let expected = match attribute.format {
                wgpu::VertexFormat::Float32x4 | wgpu::VertexFormat::Unorm8x4 => (4, ScalarKind::Float),
                wgpu::VertexFormat::Uint32 => (1, ScalarKind::Uint),
                other => panic!("{other:?}"),
            };
            assert_eq!(kind, expected, "location {}", attribute.shader_location);
        }
        let offsets = INSTANCE_ATTRIBUTES.map(|attribute| usize::try_from(attribute.offset).unwrap());
        let fields =
            [offset_of!(RectInstance, edges), offset_of!(RectInstance, color), offset_of!(RectInstance, style)];
        assert_eq!(offsets, fields);
    }

    #[test]
    fn the_mark_of_a_failure_contrasts_with_its_outline_and_both_canvases() {
        let color = |name: &str| {
            let (_, rest) = SHADER.split_once(&format!("const {name} = vec3<f32>(")).expect("a constant");
            let (channels, _) = rest.split_once(')').expect("an end");
            let channel = |text: &str| (text.parse::<f64>().expect("a number") * 255.0).round() as u8;
            let channels: Vec<u8> = channels.split(", ").map(channel).collect();
            Rgba([channels[0], channels[1], channels[2], 255])
        };
        let (mark, outline) = (color("MARK"), color("MARK_OUTLINE"));
        for other in [outline, Shade::Dark.canvas(), Shade::Light.canvas()] {
            assert!(contrast(mark, other) >= 3.0, "{}", contrast(mark, other));
        }
    }

    #[test]
    fn the_shader_has_the_bits_of_rect_style() {
        for (name, style) in [
            ("EDGE", RectStyle::EDGE),
            ("TORN", RectStyle::TORN),
            ("DIAMOND", RectStyle::DIAMOND),
            ("FAILED", RectStyle::FAILED),
        ] {
            assert!(SHADER.contains(&format!("const {name} = {}u;", style.0)), "{name}");
        }
    }
}
