//! The window and its event loop. Sleeps while nothing changes; recreates GPU resources that the system takes away.

use std::cell::Cell;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui_winit::accesskit_winit;
use winit::application::ApplicationHandler;
use winit::error::EventLoopError;
use winit::event::{ElementState, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoopProxy};
use winit::platform::run_on_demand::EventLoopExtRunOnDemand;
use winit::window::{Icon, Theme, UserAttentionType, Window, WindowAttributes, WindowId};

use super::background::panic_text;
use super::follow_request::FollowRequest;
use super::preferences::WindowGeometry;
use super::single_instance::{HandOverError, SingleInstance};
use super::state::{App, WindowEffect};
use super::tasks;
use super::{AppError, AppOptions};
use super::{dialogs, display, keyboard};
use crate::app::event::{TaskEvent, Wake};
use crate::base::{temporary, threads};
use crate::model::Sources;
use crate::render::Picture;
use crate::render::surface::{Presented, WindowSurface};
use crate::scene::color::Shade;
use crate::ui::settings::SecondStart;

/// An event of this program that wakes the loop.
#[derive(Debug)]
enum UserEvent {
    /// Requests a repaint at this time.
    RepaintAt(Instant),
    /// An event of background work.
    Task(TaskEvent),
    /// A request of a screen reader.
    Access(accesskit_winit::Event),
}

impl From<accesskit_winit::Event> for UserEvent {
    fn from(event: accesskit_winit::Event) -> Self {
        Self::Access(event)
    }
}

/// Opens the window, and returns when it is closed. The trace is opened after the first frame is on the screen. Returns
/// an [`AppError`] without a display or a driver, or if a system library is missing.
pub(crate) fn run(sources: Sources, options: AppOptions) -> Result<(), AppError> {
    let instance =
        SingleInstance::for_user(options.folders.as_ref().map(|folders| &*folders.state)).filter(|_| options.hand_over);
    let is_preferred = options.folders.as_ref().is_none_or(|folders| folders.second_start() == SecondStart::Tab);
    let note = match instance.as_ref().filter(|_| is_preferred && !sources.files().is_empty()) {
        Some(instance) => match instance.hand_over(&sources) {
            Ok(()) => return Ok(()),
            Err(error) => {
                // Not a match arm: without single instances, `NoWindow` is the only variant, and a second arm would be
                // unreachable.
                let is_first = matches!(error, HandOverError::NoWindow);
                if is_first { String::new() } else { format!("Opened in a new window: {error}") }
            }
        },
        None => String::new(),
    };
    // winit panics if a system library is missing, and after the display has lost the window.
    let has_drawn = Rc::<Cell<bool>>::default();
    catch_unwind(AssertUnwindSafe(|| run_loop(sources, options, instance.as_ref(), note, Rc::clone(&has_drawn))))
        .unwrap_or_else(|panic| {
            let missing = AppError::MissingLibrary { reason: panic_text(&*panic) };
            Err(if has_drawn.get() { AppError::DisplayLost } else { missing })
        })
}

fn run_loop(
    sources: Sources,
    options: AppOptions,
    instance: Option<&SingleInstance>,
    note: String,
    has_drawn: Rc<Cell<bool>>,
) -> Result<(), AppError> {
    let mut event_loop = display::event_loop::<UserEvent>()?;
    let frame_threads = threads::start_frame_threads();
    let proxy = event_loop.create_proxy();
    let to_loop = proxy.clone();
    let wake: Wake = Arc::new(move |event| {
        to_loop.send_event(UserEvent::Task(event)).ok(); // the window is closed
    });
    let (demo, follow) = (options.demo, options.follow.clone());
    let mut shell = Shell {
        app: App::new(options, Arc::clone(&wake)),
        wake,
        proxy,
        window: None,
        sources,
        follow,
        demo,
        opening_note: String::new(),
        repaint_at: None,
        has_drawn,
        failed: None,
    };
    tasks::watch_desktop(&shell.wake);
    // Without a host, another start opens its own window.
    let host = instance.and_then(|instance| instance.host(&shell.wake).ok().flatten());
    shell.opening_note = note;
    if shell.demo || shell.follow.is_some() || !shell.sources.files().is_empty() {
        shell.app.await_trace();
    }
    // `run_app` would drop the display when it returns, but a clipboard thread of the window still uses it. Declared
    // before the shell, the display is dropped after it, even while a panic unwinds.
    let run = event_loop.run_app_on_demand(&mut shell).map_err(|error| match error {
        EventLoopError::ExitFailure(_) => AppError::DisplayLost,
        error => AppError::NoWindow { reason: display::reason_of(&error) },
    });
    drop(host);
    let result = run.and_then(|()| shell.failed.take().map_or(Ok(()), Err));
    // This cancels the tasks. The process may end before their threads do, and removes what they were writing.
    drop(shell);
    drop(frame_threads);
    if !matches!(result, Err(AppError::NoWindow { .. })) {
        temporary::remove_all();
    }
    result
}

/// The application and its current window.
struct Shell {
    app: App,
    wake: Wake,
    proxy: EventLoopProxy<UserEvent>,
    window: Option<OpenWindow>,
    /// The traces to open after the first frame.
    sources: Sources,
    /// The sources to follow after the first frame.
    follow: Option<FollowRequest>,
    demo: bool,
    /// A note about the start, for the first trace that opens.
    opening_note: String,
    repaint_at: Option<Instant>,
    /// Whether a frame was shown.
    has_drawn: Rc<Cell<bool>>,
    failed: Option<AppError>,
}

/// The window and its renderer.
struct OpenWindow {
    window: Arc<Window>,
    surface: WindowSurface,
    egui: egui_winit::State,
    title: String,
    /// The theme of the title bar, if the window draws it.
    title_shade: Option<Shade>,
    /// Consecutive losses of the device, which are limited: a GPU may never recover.
    losses_in_a_row: u32,
}

impl ApplicationHandler<UserEvent> for Shell {
    fn new_events(&mut self, _event_loop: &ActiveEventLoop, cause: StartCause) {
        if matches!(cause, StartCause::ResumeTimeReached { .. }) {
            self.repaint_at = None;
            self.request_redraw();
        }
    }

    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.window.is_none() {
            match self.open_window(event_loop) {
                Ok(window) => self.window = Some(window),
                Err(error) => self.fail(event_loop, error),
            }
        }
    }

    fn user_event(&mut self, event_loop: &ActiveEventLoop, event: UserEvent) {
        match event {
            UserEvent::RepaintAt(at) => {
                self.repaint_at = Some(self.repaint_at.map_or(at, |earlier| earlier.min(at)));
            }
            UserEvent::Task(event) => {
                if self.app.handle(event) {
                    self.request_redraw();
                }
                if self.app.take_attention() {
                    self.come_to_front();
                }
            }
            UserEvent::Access(event) => self.access(&event),
        }
        self.sleep(event_loop);
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _id: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.window else { return };
        match &event {
            WindowEvent::CloseRequested if self.app.may_quit() => {
                event_loop.exit();
                return;
            }
            // Another program has destroyed the window.
            WindowEvent::Destroyed => {
                self.fail(event_loop, AppError::DisplayLost);
                return;
            }
            WindowEvent::Moved(_) => {
                self.app.set_window_geometry(geometry_of(&open.window, self.app.window_geometry()));
            }
            WindowEvent::RedrawRequested => {
                self.redraw(event_loop);
                self.sleep(event_loop);
                return;
            }
            WindowEvent::Resized(size) => {
                open.surface.resize([size.width, size.height]);
                open.window.request_redraw();
                if size.width > 0 && size.height > 0 {
                    self.app.set_window_geometry(geometry_of(&open.window, self.app.window_geometry()));
                }
            }
            // A window that does not close yet shows why.
            WindowEvent::CloseRequested | WindowEvent::Occluded(false) => open.window.request_redraw(),
            WindowEvent::MouseInput { state: ElementState::Pressed, .. } => keyboard::focus_if_unmanaged(&open.window),
            _ => {}
        }
        if open.egui.on_window_event(&open.window, &event).repaint {
            open.window.request_redraw();
        }
        self.sleep(event_loop);
    }

    fn exiting(&mut self, _event_loop: &ActiveEventLoop) {
        self.app.save();
        // The display still exists here; the window's clipboard uses it to its end.
        self.window = None;
        self.app.end_follows();
    }
}

impl Shell {
    fn open_window(&mut self, event_loop: &ActiveEventLoop) -> Result<OpenWindow, AppError> {
        let geometry = self.app.window_geometry();
        let on_a_screen = geometry.filter(|geometry| is_on_a_screen(event_loop, geometry));
        let usual = geometry.map_or((1280.0, 800.0), |geometry| (geometry.width, geometry.height));
        let (width, height) = match on_a_screen {
            // Restored as it was, unless the screens are smaller now.
            Some(_) => {
                desktop_size(event_loop).map_or(usual, |desktop| (usual.0.min(desktop.0), usual.1.min(desktop.1)))
            }
            None => fitting(usual, screen_size(event_loop)),
        };
        // Invisible until a screen reader can find everything on it.
        let mut attributes = with_app_id(Window::default_attributes())
            .with_window_icon(icon())
            .with_title(self.app.title())
            .with_inner_size(winit::dpi::LogicalSize::new(width.max(480.0), height.max(320.0)))
            .with_min_inner_size(winit::dpi::LogicalSize::new(480.0, 320.0))
            .with_maximized(geometry.is_some_and(|geometry| geometry.maximized))
            .with_visible(false);
        if let Some(geometry) = on_a_screen {
            attributes = attributes.with_position(winit::dpi::LogicalPosition::new(geometry.x, geometry.y));
        }
        let window =
            event_loop.create_window(attributes).map_err(|error| AppError::NoWindow { reason: error.to_string() })?;
        let window = Arc::new(window);
        let surface = new_surface(event_loop, &window)?;
        self.app.set_takes_drops(display::takes_drops(event_loop));
        let mut egui = self.new_egui(&window, &surface);
        egui.init_accesskit(event_loop, &window, self.proxy.clone());
        self.app.set_adapter(surface.gpu().name(), surface.gpu().is_software());
        window.set_visible(true);
        window.request_redraw();
        Ok(OpenWindow { window, surface, egui, title: self.app.title(), title_shade: None, losses_in_a_row: 0 })
    }

    /// Creates a new context, which sends all glyphs to the new painter.
    fn new_egui(&self, window: &Window, surface: &WindowSurface) -> egui_winit::State {
        let context = egui::Context::default();
        let proxy = self.proxy.clone();
        context.set_request_repaint_callback(move |info| {
            // A far time means never, and overflows the clock.
            if let Some(at) = Instant::now().checked_add(info.delay).filter(|_| info.delay < Duration::from_hours(1)) {
                proxy.send_event(UserEvent::RepaintAt(at)).ok(); // the window is closed
            }
        });
        let side_max = usize::try_from(surface.gpu().texture_side_max()).ok();
        let scale = window.scale_factor() as f32;
        egui_winit::State::new(context, egui::ViewportId::ROOT, window, Some(scale), window.theme(), side_max)
    }

    fn redraw(&mut self, event_loop: &ActiveEventLoop) {
        let Some(open) = &mut self.window else { return };
        let size = open.window.inner_size();
        if size.width == 0 || size.height == 0 {
            return;
        }
        open.surface.resize([size.width, size.height]);
        let to_write = self.app.take_window_picture();
        let input = open.egui.take_egui_input(&open.window);
        let context = open.egui.egui_ctx().clone();
        let app = &mut self.app;
        let mut effects = Vec::new();
        let output = context.run_ui(input, |ui| effects.extend(app.show(ui)));
        open.egui.handle_platform_output_with_event_loop(&open.window, event_loop, output.platform_output);
        let mut picture = Picture {
            primitives: context.tessellate(output.shapes, output.pixels_per_point),
            textures: output.textures_delta,
            pixels_per_point: output.pixels_per_point,
            background: self.app.theme().canvas,
        };
        if let Some(path) = to_write {
            let drawn = open.surface.read_back(&mut picture);
            self.app.write_window_picture(path, drawn);
            open.window.request_redraw();
        }
        open.window.pre_present_notify();
        let presented = open.surface.present(picture);
        let title = self.app.title();
        if open.title != title {
            open.window.set_title(&title);
            open.title = title;
        }
        let shade = self.app.theme().shade;
        if open.title_shade.replace(shade) != Some(shade) {
            open.window.set_theme(Some(match shade {
                Shade::Dark => Theme::Dark,
                Shade::Light => Theme::Light,
            }));
        }
        self.handle_presented(event_loop, presented);
        for effect in effects {
            self.carry_out(event_loop, effect);
        }
        self.open_files();
    }

    /// Handles what presenting a frame reported.
    fn handle_presented(&mut self, event_loop: &ActiveEventLoop, presented: Presented) {
        /// A GPU that was reset recovers at once or not at all.
        const LOSSES_MAX: u32 = 3;
        let Some(open) = &mut self.window else { return };
        match presented {
            Presented::Shown => {
                open.losses_in_a_row = 0;
                self.has_drawn.set(true);
            }
            Presented::Hidden => {}
            Presented::Retry => open.window.request_redraw(),
            Presented::SurfaceLost => match open.surface.replace_surface(Arc::clone(&open.window)) {
                Ok(()) => open.window.request_redraw(),
                Err(error) => self.fail(event_loop, error.into()),
            },
            Presented::DeviceLost if open.losses_in_a_row >= LOSSES_MAX => {
                let reason = "it was lost repeatedly".to_owned();
                self.fail(event_loop, crate::render::GpuError::Lost { reason }.into());
            }
            Presented::DeviceLost => self.replace_device(event_loop),
        }
    }

    /// Recreates everything on the GPU. The application's state is elsewhere, and stays.
    fn replace_device(&mut self, event_loop: &ActiveEventLoop) {
        let Some(mut lost) = self.window.take() else { return };
        let reason = lost.surface.gpu().lost().unwrap_or("no reason given");
        self.app.set_note(format!("The GPU device was lost and re-created: {reason}"));
        drop(lost.surface);
        match new_surface(event_loop, &lost.window) {
            Ok(surface) => {
                let mut egui = self.new_egui(&lost.window, &surface);
                egui.accesskit = lost.egui.accesskit.take();
                self.app.set_adapter(surface.gpu().name(), surface.gpu().is_software());
                lost.window.request_redraw();
                let losses_in_a_row = lost.losses_in_a_row + 1;
                self.window = Some(OpenWindow { surface, egui, losses_in_a_row, ..lost });
            }
            Err(error) => self.fail(event_loop, error),
        }
    }

    fn carry_out(&mut self, event_loop: &ActiveEventLoop, effect: WindowEffect) {
        match effect {
            WindowEffect::Quit => event_loop.exit(),
            WindowEffect::Paste => {
                let copied = self.window.as_mut().and_then(|open| open.egui.clipboard_text());
                self.app.paste(copied.unwrap_or_default());
                self.request_redraw();
            }
            WindowEffect::Dialog { request, suggested_name, folder } => {
                if let Some(open) = &self.window {
                    dialogs::choose(&open.window, request, &suggested_name, folder, &self.wake);
                }
            }
        }
    }

    /// Opens the files of the command line, after the first frame.
    fn open_files(&mut self) {
        let sources = std::mem::take(&mut self.sources);
        let demo = std::mem::take(&mut self.demo);
        if let Some(request) = self.follow.take() {
            self.app.follow(request);
            self.app.add_note(std::mem::take(&mut self.opening_note));
        } else if !sources.files().is_empty() {
            self.app.open(sources);
            self.app.add_note(std::mem::take(&mut self.opening_note));
        } else if demo {
            self.app.open_demo();
        } else {
            return;
        }
        self.request_redraw();
    }

    fn access(&mut self, event: &accesskit_winit::Event) {
        let Some(open) = &mut self.window else { return };
        match &event.window_event {
            accesskit_winit::WindowEvent::InitialTreeRequested => open.egui.egui_ctx().enable_accesskit(),
            accesskit_winit::WindowEvent::ActionRequested(request) => {
                open.egui.on_accesskit_action_request(request.clone());
            }
            accesskit_winit::WindowEvent::AccessibilityDeactivated => open.egui.egui_ctx().disable_accesskit(),
        }
        open.window.request_redraw();
    }

    /// Raises the window if the desktop allows it, or else requests attention.
    fn come_to_front(&self) {
        if let Some(open) = &self.window {
            open.window.set_minimized(false);
            open.window.focus_window();
            open.window.request_user_attention(Some(UserAttentionType::Informational));
        }
    }

    fn request_redraw(&self) {
        if let Some(open) = &self.window {
            open.window.request_redraw();
        }
    }

    /// Sleeps until an event or the next repaint.
    fn sleep(&mut self, event_loop: &ActiveEventLoop) {
        match self.repaint_at {
            Some(at) if at <= Instant::now() => {
                self.repaint_at = None;
                self.request_redraw();
                event_loop.set_control_flow(ControlFlow::Wait);
            }
            Some(at) => event_loop.set_control_flow(ControlFlow::WaitUntil(at)),
            None => event_loop.set_control_flow(ControlFlow::Wait),
        }
    }

    fn fail(&mut self, event_loop: &ActiveEventLoop, error: AppError) {
        self.failed = Some(error);
        self.window = None;
        event_loop.exit();
    }
}

/// Sets the name of `longspan.desktop` on the window, by which desktops match the two: the app id on Wayland, the class
/// under X.
fn with_app_id(attributes: WindowAttributes) -> WindowAttributes {
    #[cfg(target_os = "linux")]
    return winit::platform::wayland::WindowAttributesExtWayland::with_name(attributes, "longspan", "longspan");
    #[cfg(not(target_os = "linux"))]
    attributes
}

/// Returns the icon of the window, for desktops that do not use the desktop entry. A missing icon is not an error.
fn icon() -> Option<Icon> {
    const PNG: &[u8] = include_bytes!("../../assets/longspan.png");
    let mut reader = png::Decoder::new(Cursor::new(PNG)).read_info().ok()?;
    let mut rgba = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut rgba).ok()?;
    Icon::from_rgba(rgba, info.width, info.height).ok()
}

/// Returns the position and size of a window; a maximised window keeps its previous position and size.
fn geometry_of(window: &Window, before: Option<WindowGeometry>) -> WindowGeometry {
    let scale = window.scale_factor();
    let size = window.inner_size().to_logical::<f64>(scale);
    let position = window.outer_position().unwrap_or_default().to_logical::<f64>(scale);
    let now = WindowGeometry {
        x: position.x,
        y: position.y,
        width: size.width,
        height: size.height,
        maximized: window.is_maximized(),
    };
    if now.maximized { WindowGeometry { maximized: true, ..before.unwrap_or(now) } } else { now }
}

/// Returns whether the upper left corner of a restored window is on a screen, since screens may have changed.
fn is_on_a_screen(event_loop: &ActiveEventLoop, geometry: &WindowGeometry) -> bool {
    event_loop.available_monitors().any(|screen| {
        let position = screen.position().to_logical::<f64>(screen.scale_factor());
        let size = screen.size().to_logical::<f64>(screen.scale_factor());
        let within = |at: f64, from: f64, length: f64| at > from - 1.0 && at < from + length - 100.0;
        within(geometry.x, position.x, size.width) && within(geometry.y, position.y, size.height)
    })
}

/// Returns the size of the screen for a new window, if the system reports it.
fn screen_size(event_loop: &ActiveEventLoop) -> Option<(f64, f64)> {
    let screen = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next())?;
    let size = screen.size().to_logical::<f64>(screen.scale_factor());
    (size.width > 0.0 && size.height > 0.0).then_some((size.width, size.height))
}

/// Returns the size of all screens together, if the system reports it.
fn desktop_size(event_loop: &ActiveEventLoop) -> Option<(f64, f64)> {
    let ends = event_loop.available_monitors().map(|screen| {
        let scale = screen.scale_factor();
        let (position, size) = (screen.position().to_logical::<f64>(scale), screen.size().to_logical::<f64>(scale));
        (position.x + size.width, position.y + size.height)
    });
    ends.filter(|end| end.0 > 0.0 && end.1 > 0.0).reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
}

/// Returns a size that fits on the screen: a small laptop has less than the default.
fn fitting((width, height): (f64, f64), screen: Option<(f64, f64)>) -> (f64, f64) {
    /// Share of the screen for the window; the rest is for its title bar and the desktop's panels.
    const SHARE: f64 = 0.9;
    match screen {
        Some((screen_width, screen_height)) => (width.min(screen_width * SHARE), height.min(screen_height * SHARE)),
        None => (width, height),
    }
}

fn new_surface(event_loop: &ActiveEventLoop, window: &Arc<Window>) -> Result<WindowSurface, AppError> {
    let size = window.inner_size();
    let display = event_loop.owned_display_handle();
    Ok(WindowSurface::new(Arc::clone(window), display, [size.width, size.height])?)
}

#[cfg(test)]
mod tests {
    use super::{fitting, icon};

    #[test]
    fn the_window_icon_decodes_to_rgba_pixels() {
        assert!(icon().is_some());
    }

    #[test]
    fn a_window_is_no_larger_than_its_screen() {
        for (screen, expected) in [
            (Some((1920.0, 1080.0)), (1280.0, 800.0)),
            (Some((1366.0, 768.0)), (1229.4, 691.2)),
            (Some((640.0, 400.0)), (576.0, 360.0)),
            (None, (1280.0, 800.0)),
        ] {
            let (width, height) = fitting((1280.0, 800.0), screen);
            assert!((width - expected.0).abs() < 0.1 && (height - expected.1).abs() < 0.1, "{screen:?}");
        }
    }
}
