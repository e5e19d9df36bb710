//! The bundle for Maven repositories: for each jar its sources, its documentation, a complete POM
//! and sums, in the layout of a repository. `headway.jar` holds the programs.
//!
//! `--check` consumes it: a project of a user is built by Maven and by Gradle, without network, from the
//! bundle and from the packages that this project's own build needs, with empty caches; its benchmark is
//! profiled.

use super::archive::{Archive, Mode};
use super::binaries::Binary;
use super::publisher::Publisher;
use super::{place, Release};
use crate::process::{build_directory, is_on_path, output_of, program, root, run, target_directory};
use crate::{java, packages, Problem};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A jar of the bundle.
struct Artifact {
    /// Its folder below `java/`.
    module: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Group, name and version, where it is not this release's.
    needs: &'static [(&'static str, &'static str, Option<&'static str>)],
}

const ARTIFACTS: [Artifact; 3] = [
    Artifact {
        module: "api",
        name: "headway-api",
        title: "Headway: API",
        description: "Names units of work for Headway. Without effect, and nearly without cost, where no agent is.",
        needs: &[],
    },
    Artifact {
        module: "bundle",
        name: "headway",
        title: "Headway",
        description: "A profiler for lock contention: java -jar headway.jar PID attaches, \
            -javaagent:headway.jar records from the start.",
        needs: &[],
    },
    Artifact {
        module: "jmh",
        name: "headway-jmh",
        title: "Headway: JMH profiler",
        description: "Blocked time, waits and findings of a benchmark as secondary results, and flame graphs.",
        needs: &[("io.headway", "headway", None), ("com.google.code.gson", "gson", Some("2.11.0"))],
    },
];

/// The lock of the consumer's benchmark.
const LOCK: &str = "headway.blocked:Contention.inventory";

/// The archive's name without its extension.
pub fn name(release: &Release) -> String {
    format!("headway-{}-maven", release.version)
}

/// Builds the jars.
pub fn bundle(release: &Release, publisher: &Publisher, agent: &Binary, cli: &Binary) -> Result<Archive, Problem> {
    let natives = target_directory().join("dist/natives");
    super::empty(&natives)?;
    fs::copy(&agent.stripped, natives.join("libheadway.so"))?;
    fs::copy(&cli.stripped, natives.join("headway"))?;
    let programs = format!("-Dheadway.natives={}", natives.display());
    // Jars are made again: an old one may have other programs.
    run(&mut java::maven(
        None,
        &["-DskipTests", "-P", "release", "-pl", "api,bundle,jmh", &programs, "clean", "package"],
    ))?;
    let mut archive = Archive::new("");
    for artifact in &ARTIFACTS {
        let folder = format!("io/headway/{}/{}", artifact.name, release.version);
        let built = root().join("java").join(artifact.module).join("target");
        let path = |end: &str| format!("{folder}/{}-{}{end}", artifact.name, release.version);
        for kind in ["", "-sources", "-javadoc"] {
            let to = path(&format!("{kind}.jar"));
            archive.file(&to, Mode::Data, &built.join(format!("{}{kind}.jar", artifact.name)))?;
        }
        archive.text(&path(".pom"), &pom(artifact, release, publisher)?);
    }
    archive.add_sums_of_maven();
    Ok(archive)
}

fn pom(artifact: &Artifact, release: &Release, publisher: &Publisher) -> Result<String, Problem> {
    let needs: String = artifact
        .needs
        .iter()
        .map(|(group, name, version)| {
            let version = version.unwrap_or(&release.version);
            format!(
                "\n    <dependency>\n      <groupId>{group}</groupId>\n      <artifactId>{name}</artifactId>\n      \
                 <version>{version}</version>\n    </dependency>"
            )
        })
        .collect();
    let end = if needs.is_empty() { "" } else { "\n  " };
    let template = fs::read_to_string(root().join("dist/pom.xml"))?;
    let values = [
        ("@ARTIFACT@", artifact.name),
        ("@VERSION@", &release.version),
        ("@NAME@", artifact.title),
        ("@DESCRIPTION@", artifact.description),
        ("@COMMIT@", &release.commit),
        ("@PUBLISHER@", &publisher.name),
        ("@HOME@", &publisher.home),
        ("@DEPENDENCIES@", &format!("{needs}{end}")),
    ];
    Ok(values.iter().fold(template, |text, (mark, value)| text.replace(mark, value)))
}

/// What is wrong for a user of the bundle.
pub fn complaints(release: &Release) -> Result<Vec<String>, Problem> {
    let folder = build_directory().join("dist-consumer");
    super::empty(&folder)?;
    let (repository, cache) = (folder.join("repository"), folder.join("cache"));
    fs::create_dir_all(&repository)?;
    let archive = place().join(format!("{}.tar.gz", name(release)));
    run(program("tar").arg("-xzf").arg(archive).arg("-C").arg(&repository))?;
    run(program("cp").arg("-r").arg(root().join("dist/consumer")).arg(folder.join("project")))?;
    let settings = folder.join("settings.xml");
    fs::write(&settings, settings_without_network()?)?;
    // No network: everything comes from the two directories.
    let mut maven = program("unshare");
    maven.current_dir(folder.join("project")).args(["--net", "mvn", "-q", "-B", "-s"]).arg(&settings);
    maven.arg(format!("-Dmaven.repo.local={}", cache.display()));
    maven.arg(format!("-Dheadway.repository=file://{}", repository.display()));
    run(maven.arg(format!("-Dheadway.version={}", release.version)).arg("compile"))?;
    let mut complaints = benchmark(&folder, &cache)?;
    complaints.extend(built_by_gradle(&folder, &repository, release)?);
    complaints.extend(started_with_the_program(&folder, &cache, release)?);
    Ok(complaints)
}

/// The same project, built by Gradle.
fn built_by_gradle(folder: &Path, repository: &Path, release: &Release) -> Result<Option<String>, Problem> {
    if !is_on_path("gradle") && !packages::install_one_of(&["gradle"]) {
        return Err("needs gradle, for a user's project (package gradle)".into());
    }
    let project = folder.join("gradle-project");
    run(program("cp").arg("-r").arg(root().join("dist/consumer")).arg(&project))?;
    // A namespace without network has no loopback address either, by which Gradle's processes talk.
    let mut gradle = program("unshare");
    gradle.current_dir(&project).args(["--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
    gradle
        .args(["gradle", "--quiet", "--offline", "--no-daemon", "--gradle-user-home"])
        .arg(folder.join("gradle-cache"));
    gradle.arg(format!("-Pheadway.version={}", release.version));
    gradle.arg(format!("-Pheadway.repository=file://{}", repository.display()));
    gradle.arg(format!("-Pother.repository=file://{}", own_packages()?));
    run(gradle.arg("classes"))?;
    // What the annotation processor of JMH makes, whose benchmark calls the API.
    let made = files_below(&project.join("build")).iter().any(|path| path.ends_with("META-INF/BenchmarkList"));
    Ok((!made).then(|| "a user's project has no benchmark when it is built by Gradle".to_owned()))
}

/// The benchmark's lock must have nearly all blocked time, and each operation waits for three others.
fn benchmark(folder: &Path, cache: &Path) -> Result<Vec<String>, Problem> {
    let results = folder.join("results.json");
    let mut classes: Vec<PathBuf> = jars(cache)?;
    classes.push(folder.join("project/target/classes"));
    let class_path = std::env::join_paths(classes)?;
    let mut jmh = program("java");
    jmh.current_dir(folder).arg("-cp").arg(class_path).args(["org.openjdk.jmh.Main", "-rf", "json", "-rff"]);
    run(jmh.arg(&results).args(["-prof", "io.headway.jmh.HeadwayProfiler:dir=profiles"]))?;
    let results: Value = serde_json::from_str(&fs::read_to_string(&results)?)?;
    let secondary = &results[0]["secondaryMetrics"];
    println!("JMH: {secondary}");
    let mut complaints = judged(secondary);
    let graphs = files_below(&folder.join("profiles")).into_iter().filter(|path| path.ends_with("-contender.html"));
    if graphs.count() != 1 {
        complaints.push("the profiler of JMH wrote no flame graph of blocked time".to_owned());
    }
    Ok(complaints)
}

fn judged(secondary: &Value) -> Vec<String> {
    let score = |name: &str| secondary[name]["score"].as_f64().unwrap_or(f64::NAN);
    let mut complaints = Vec::new();
    let (share, blocked_ms) = (score(LOCK), score("headway.blocked") / 1e6);
    if !(90.0..=100.0).contains(&share) {
        complaints.push(format!("JMH: the contended lock has {share} % of the blocked time, not nearly all"));
    }
    // Sleeping takes somewhat longer than 2 ms.
    if !(5.0..=12.0).contains(&blocked_ms) {
        complaints.push(format!("JMH: an operation is blocked for {blocked_ms} ms, not for about 6"));
    }
    complaints
}

/// `-javaagent:headway.jar` records from the start, and `java -jar headway.jar` is the command line.
fn started_with_the_program(folder: &Path, cache: &Path, release: &Release) -> Result<Vec<String>, Problem> {
    let jar = cache.join(format!("io/headway/headway/{0}/headway-{0}.jar", release.version));
    let recording = folder.join("start.jfr");
    run(program("javac").arg("-d").arg(folder).arg(root().join("crates/cli/tests/java/Contended.java")))?;
    let mut java = program("java");
    java.arg(format!("-javaagent:{}=start,file={}", jar.display(), recording.display()));
    run(java.arg("-cp").arg(folder).args(["Contended", "3"]))?;
    let report = output_of(program("java").arg("-jar").arg(&jar).arg("report").arg(&recording))?;
    let found = report.contains("`Contended.rebuild`");
    Ok(if found { Vec::new() } else { vec!["-javaagent:headway.jar did not record the contended lock".to_owned()] })
}

/// Every repository is the cache of this project's own build.
fn settings_without_network() -> Result<String, Problem> {
    Ok(format!(
        "<settings><mirrors><mirror><id>here</id><mirrorOf>*,!headway</mirrorOf>\
         <url>file://{}</url></mirror></mirrors></settings>\n",
        own_packages()?
    ))
}

/// What this project's own build has fetched.
fn own_packages() -> Result<String, Problem> {
    let home = std::env::var("HOME").map_err(|_| "HOME is not set")?;
    Ok(format!("{home}/.m2/repository"))
}

fn jars(cache: &Path) -> Result<Vec<PathBuf>, Problem> {
    // The benchmark's own: Maven's plugins brought other versions of some.
    let of_project = ["io/headway/", "org/openjdk/jmh/", "net/sf/jopt-simple/", "commons-math3/", "code/gson/"];
    let jars: Vec<PathBuf> = files_below(cache)
        .into_iter()
        .filter(|path| path.ends_with(".jar") && of_project.iter().any(|part| path.contains(part)))
        .map(PathBuf::from)
        .collect();
    if jars.is_empty() {
        return Err("the consumer's cache has no jars".into());
    }
    Ok(jars)
}

fn files_below(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path.display().to_string()] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poms_are_complete_and_have_nothing_of_the_workloads() {
        let release = Release { version: "1.2.3".into(), commit: "c0ffee".into(), is_modified: false, epoch: 1 };
        let publisher = Publisher::of_checkout().unwrap();
        for artifact in &ARTIFACTS {
            let pom = pom(artifact, &release, &publisher).unwrap();
            for part in
                ["groupId", "artifactId", "version", "name", "description", "url", "licenses", "developers", "scm"]
            {
                assert!(pom.contains(&format!("\n  <{part}>")), "{}: {part}", artifact.name);
            }
            assert!(!pom.contains('@') && !pom.contains("h2") && !pom.contains("workloads"), "{pom}");
            assert_eq!(pom.matches("<dependency>").count(), artifact.needs.len());
        }
    }

    #[test]
    fn dependencies_are_those_of_the_modules() {
        let versions = fs::read_to_string(root().join("java/pom.xml")).unwrap();
        for artifact in &ARTIFACTS {
            let module = fs::read_to_string(root().join("java").join(artifact.module).join("pom.xml")).unwrap();
            for (_, name, version) in artifact.needs {
                assert!(module.contains(&format!("<artifactId>{name}</artifactId>")), "{name}");
                assert!(
                    version.is_none_or(|version| versions.contains(&format!("<{name}.version>{version}<"))),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_wrong_share_or_time_is_found() {
        let said = |share: f64, ns: f64| {
            let score = |score: f64| serde_json::json!({ "score": score });
            judged(&serde_json::json!({ LOCK: score(share), "headway.blocked": score(ns) })).len()
        };
        assert_eq!([said(99.0, 6.3e6), said(50.0, 6.3e6), said(99.0, 1e6)], [0, 1, 1]);
        assert_eq!(judged(&Value::Null).len(), 2);
    }
}
