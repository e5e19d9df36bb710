//! CPU and steal of the machine and of each CPU: `/proc/stat`.

use crate::kept::KeptFile;
use crate::root::{garbled, HostError, Root};

/// Busy, stolen and idle time since the machine started, or their difference.
/// The kernel leaves steal out of the times of the machine's CPUs, so
/// these three do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// User, nice, system and interrupt time.
    pub busy_ns: u64,
    /// Steal.
    pub stolen_ns: u64,
    /// Idle and I/O wait time.
    pub idle_ns: u64,
}

impl CpuTime {
    fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            stolen_ns: self.stolen_ns.saturating_sub(earlier.stolen_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }
}

/// The machine at a moment, or what happened between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// All CPUs together.
    pub all: CpuTime,
    /// CPUs that are online, by their number.
    pub cpus: Vec<(u16, CpuTime)>,
}

const PATH: &str = "/proc/stat";
const LACKS: &str = "line of all CPUs";

impl Machine {
    /// The machine now.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read, or lacks the line of all CPUs. One of a CPU
    /// that is cut off or makes no sense is left out.
    pub fn read(root: &Root) -> Result<Machine, HostError> {
        Machine::parse(&root.read(PATH)?, root.tick_ns).ok_or_else(|| root.garbled(PATH, LACKS))
    }

    /// The file to be kept open for [`Machine::read_from`].
    pub fn file(root: &Root) -> KeptFile {
        KeptFile::new(root, PATH)
    }

    /// The machine now, from its file that is kept open. What follows the CPUs in
    /// it, which can be long, is not read.
    ///
    /// # Errors
    /// As of [`Machine::read`].
    pub fn read_from(file: &mut KeptFile, tick_ns: u64) -> Result<Machine, HostError> {
        let text = file.read(has_all_cpus)?;
        let machine = Machine::parse(&String::from_utf8_lossy(text), tick_ns);
        machine.ok_or_else(|| garbled(file.path(), LACKS))
    }

    fn parse(text: &str, tick_ns: u64) -> Option<Machine> {
        // A last line without an end may be cut off within a number.
        let complete = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or_default();
        let mut lines = complete.lines();
        let all = cpu_time(lines.next()?.strip_prefix("cpu ")?, tick_ns)?;
        let of_cpu = |line: &str| {
            let (number, times) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((number.parse().ok()?, cpu_time(times, tick_ns)?))
        };
        let cpus = lines.take_while(|line| line.starts_with("cpu")).filter_map(of_cpu).collect();
        Some(Machine { all, cpus })
    }

    /// What happened since `earlier`. A CPU that was not there then has no
    /// difference yet; counters that ran backwards count as unchanged.
    pub fn since(&self, earlier: &Machine) -> Machine {
        let before = |number: u16| earlier.cpus.iter().find(|(other, _)| *other == number);
        let cpus = self.cpus.iter().filter_map(|(number, time)| Some((*number, time.since(before(*number)?.1))));
        Machine { all: self.all.since(earlier.all), cpus: cpus.collect() }
    }
}

/// True if a line follows those of the CPUs.
fn has_all_cpus(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').rev();
    // The last one may be cut off after its first letters.
    let _ = lines.next();
    lines.next().is_some_and(|line| !line.starts_with(b"cpu"))
}

/// `user nice system idle iowait irq softirq steal ...`; old kernels lack the
/// last ones. Guest time is contained in user time.
fn cpu_time(fields: &str, tick_ns: u64) -> Option<CpuTime> {
    let mut ticks = [0u64; 8];
    let mut count = 0;
    for (place, field) in ticks.iter_mut().zip(fields.split_ascii_whitespace()) {
        *place = field.parse().ok()?;
        count += 1;
    }
    let [user, nice, system, idle, io_wait, irq, soft_irq, steal] = ticks;
    let sum = |parts: &[u64]| parts.iter().fold(0u64, |sum, part| sum.saturating_add(*part)).saturating_mul(tick_ns);
    (count >= 4).then(|| CpuTime {
        busy_ns: sum(&[user, nice, system, irq, soft_irq]),
        stolen_ns: sum(&[steal]),
        idle_ns: sum(&[idle, io_wait]),
    })
}
