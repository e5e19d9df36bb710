//! `headway top`: which locks impede progress right now.

mod draw;
mod input;
mod method_name;
pub(crate) mod source;
mod state;

use crate::command::pressure;
use crate::error::{Failure, DONE};
use crate::json;
use crate::jvm::find;
use crate::quantity::Span;
use clap::Args;
use headway_analysis::pressure::live::Picture;
use input::Input;
use ratatui::backend::TermionBackend;
use ratatui::termion::raw::IntoRawMode;
use ratatui::termion::screen::IntoAlternateScreen;
use ratatui::Terminal;
use source::Source;
use state::State;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  headway top 4711
  headway top --interval 200ms Server
  headway top --json -n 5 4711 | jq '.locks[0]'

`top` shows the running recording if there is one. Otherwise it starts a recording
of pressure (-e pressure), and ends it when you quit. Like `record`, this changes
functions of the JVM in memory and pauses it for some milliseconds at the start
(longer if the JVM has almost no CPU).
If `top` loaded the agent, `top` detaches it at the end (`headway stop --help`
says what stays).

Columns:
  now           pressure of the lock in the last interval: the time that threads
                were blocked on it, divided by the time in which threads did not wait
                (they were on CPU, ready, blocked, asleep or in I/O)
  max           its highest pressure so far
  history       its pressure in the last intervals
  owned by      method in which a thread owned the lock
  blocked in    method in which threads were blocked on it

Keys: q quits, p pauses the display, s sorts by another column, / filters, up and down
choose a lock, Enter shows its call stacks, k shows parks.";

/// How often the keyboard and the picture are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Options of `top`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Top {
    /// Time between updates (at least 10ms). While a recording runs, its pressure interval is
    /// used instead
    #[arg(long, value_name = "TIME", value_parser = pressure::interval, default_value = "1s")]
    interval: Span,

    /// Print each update as a line of JSON instead
    #[arg(long)]
    json: bool,

    /// End after this many updates
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Process id, main class or jar; a part of the name is enough if it fits only one JVM
    #[arg(value_name = "PID|NAME")]
    target: String,
}

impl Top {
    /// Carries out the command.
    ///
    /// # Errors
    /// The target cannot be attached to, or ended; there is no terminal.
    pub fn execute(self) -> Result<u8, Failure> {
        let jvm = find::jvm(&self.target)?;
        let on_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
        if !self.json && !on_terminal {
            return Err(Failure::Usage("`headway top` needs a terminal; --json prints its numbers instead".into()));
        }
        let title = format!("{} {}", jvm.process.pid, jvm.main);
        let interrupted = interruptions()?;
        let mut source = Source::open(&jvm, self.interval)?;
        let shown = match self.json {
            true => self.print(&mut source, &interrupted),
            false => self.show(&mut source, &title, &interrupted),
        };
        let closed = source.close();
        // What ended the watching says more than what it led to.
        shown.and(closed)?;
        Ok(DONE)
    }

    fn print(&self, source: &mut Source, interrupted: &AtomicBool) -> Result<(), Failure> {
        let mut printed = 0;
        while !interrupted.load(Ordering::Relaxed) && self.count.is_none_or(|count| printed < count) {
            if let Some(picture) = source.next()? {
                json::print_line(&picture)?;
                printed += 1;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn show(&self, source: &mut Source, title: &str, interrupted: &AtomicBool) -> Result<(), Failure> {
        let failed = || Failure::doing("cannot use the terminal");
        // Both go back to what they were when they go out of scope.
        let raw = io::stdout().into_raw_mode().map_err(failed())?;
        let screen = raw.into_alternate_screen().map_err(failed())?;
        let mut terminal = Terminal::new(TermionBackend::new(screen)).map_err(failed())?;
        terminal.hide_cursor().map_err(failed())?;
        let input = Input::begin();
        let mut state = State::new(title);
        let shown = self.loop_until_quit(&mut terminal, source, &input, &mut state, interrupted);
        // Whatever happened, the cursor comes back.
        let _ = terminal.show_cursor();
        shown
    }

    fn loop_until_quit<B: ratatui::backend::Backend<Error = io::Error>>(
        &self,
        terminal: &mut Terminal<B>,
        source: &mut Source,
        input: &Input,
        state: &mut State,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut pictures = 0;
        while !interrupted.load(Ordering::Relaxed) {
            if let Some(picture) = source.next()? {
                pictures += 1;
                self.take(state, picture);
            }
            terminal.draw(|frame| draw::draw(frame, state)).map_err(Failure::doing("cannot use the terminal"))?;
            let wants_more = input.keys(LOOK_EVERY).into_iter().all(|key| state.key(key));
            if !wants_more || self.count.is_some_and(|count| pictures >= count) {
                break;
            }
        }
        Ok(())
    }

    fn take(&self, state: &mut State, picture: Picture) {
        if !state.paused {
            state.picture = Some(picture);
        }
    }
}

/// Set when somebody asks us to end; the target must be left as it was.
fn interruptions() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, interrupted.clone()).map_err(Failure::doing("cannot handle signals"))?;
    }
    Ok(interrupted)
}
