//! VM configurations: collectors, locking modes, object header layouts.

use crate::jdk::Jdk;
use std::fmt;
use std::process::{Command, Stdio};

/// One way to run a JVM.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The JDK.
    pub jdk: Jdk,
    /// What makes it special.
    pub flags: Vec<&'static str>,
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let telling = self.flags.iter().filter(|flag| !flag.contains("Unlock"));
        let flags: Vec<&str> = telling.map(|flag| flag.trim_start_matches("-XX:")).collect();
        write!(f, "JDK {} {}", self.jdk.release, flags.join(" "))
    }
}

const COLLECTORS: [&str; 4] = ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseZGC", "-XX:+UseSerialGC"];

/// Locking modes and header layouts by release. What a build refuses is left
/// out when turns are made, see [`offers`].
const LOCKING: [(u32, &[&str]); 12] = [
    (17, &[]),
    (17, &["-XX:+UseHeavyMonitors"]),
    (17, &["-XX:+UseBiasedLocking"]),
    (21, &[]),
    (21, &["-XX:+UnlockExperimentalVMOptions", "-XX:LockingMode=0"]),
    (21, &["-XX:+UnlockExperimentalVMOptions", "-XX:LockingMode=1"]),
    (21, &["-XX:+UnlockExperimentalVMOptions", "-XX:LockingMode=2"]),
    (25, &[]),
    (25, &["-XX:+UseCompactObjectHeaders"]),
    (25, &["-XX:+UnlockDiagnosticVMOptions", "-XX:+UseObjectMonitorTable"]),
    (25, &["-XX:LockingMode=0"]),
    (25, &["-XX:LockingMode=1"]),
];

/// Every configuration that the JDKs offer, in an order that depends on the
/// seed and in which neighbours differ in their JDK.
pub fn turns(jdks: &[Jdk], seed: u64) -> Vec<Configuration> {
    let mut by_jdk: Vec<Vec<Configuration>> = jdks.iter().map(of_jdk).collect();
    let mut random = fastrand::Rng::with_seed(seed);
    by_jdk.iter_mut().for_each(|configurations| random.shuffle(configurations));
    let longest = by_jdk.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|i| by_jdk.iter().filter_map(move |of| of.get(i).cloned())).collect()
}

fn of_jdk(jdk: &Jdk) -> Vec<Configuration> {
    let mut configurations = Vec::new();
    for (_, locking) in LOCKING.iter().filter(|(release, _)| *release == jdk.release) {
        for collector in COLLECTORS {
            let mut flags = locking.to_vec();
            flags.push(collector);
            configurations.push(Configuration { jdk: jdk.clone(), flags });
        }
    }
    configurations.retain(|configuration| {
        let offered = offers(configuration);
        if !offered {
            println!("stress: not offered by this build: {configuration}");
        }
        offered
    });
    configurations
}

/// True if the JVM starts with these flags and does not say that it ignores one.
fn offers(configuration: &Configuration) -> bool {
    let mut command = Command::new(configuration.jdk.tool("java"));
    command.args(&configuration.flags).arg("-version").stdin(Stdio::null());
    command.output().is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout).to_string() + &String::from_utf8_lossy(&output.stderr);
        output.status.success() && !said.to_lowercase().contains("ignor")
    })
}
