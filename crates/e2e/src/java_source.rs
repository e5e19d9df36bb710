//! Programs that come as Java source, of which each test has its own.

use crate::guarded::Guarded;
use crate::jdk::Jdk;
use crate::Problem;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// A class that was compiled for every JDK.
pub struct JavaSource {
    name: &'static str,
    classes: TempDir,
}

impl JavaSource {
    /// Compiles `source`, whose main class has this name.
    ///
    /// # Errors
    /// No JDK has a compiler, or the source is wrong.
    pub fn compiled(name: &'static str, source: &str) -> Result<JavaSource, Problem> {
        let compiler = Jdk::all().into_iter().find(|jdk| jdk.tool("javac").exists()).ok_or("no JDK has a compiler")?;
        let classes = TempDir::new()?;
        let file = classes.path().join(format!("{name}.java"));
        fs::write(&file, source)?;
        let mut javac = Command::new(compiler.tool("javac"));
        let compiled = javac.args(["--release", "17", "-d"]).arg(classes.path()).arg(&file).status()?;
        match compiled.success() {
            true => Ok(JavaSource { name, classes }),
            false => Err(format!("{name}.java cannot be compiled").into()),
        }
    }

    /// Begins the program.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn run(&self, jdk: &Jdk) -> Result<Spoken, Problem> {
        let mut java = Command::new(jdk.tool("java"));
        java.arg("-cp").arg(self.classes.path()).arg(self.name).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = Guarded(java.spawn()?);
        let (to, from) = (program.stdin.take().ok_or("no input")?, program.stdout.take().ok_or("no output")?);
        Ok(Spoken { program, to, from: BufReader::new(from) })
    }
}

/// A running program that says how far it is, and goes on when it gets a line.
pub struct Spoken {
    /// The process.
    pub program: Guarded,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Spoken {
    /// Waits for its next line.
    ///
    /// # Errors
    /// The line is another one.
    pub fn says(&mut self, word: &str) -> Result<(), Problem> {
        let line = self.line()?;
        match line == word {
            true => Ok(()),
            false => Err(format!("the program said {line:?} instead of {word:?}").into()),
        }
    }

    /// Its next line.
    ///
    /// # Errors
    /// It says nothing more.
    pub fn line(&mut self) -> Result<String, Problem> {
        let mut line = String::new();
        match self.from.read_line(&mut line)? {
            0 => Err("the program says nothing more".into()),
            _ => Ok(line.trim().to_owned()),
        }
    }

    /// Sends it a line.
    ///
    /// # Errors
    /// It does not read.
    pub fn goes_on(&mut self) -> Result<(), Problem> {
        Ok(self.to.write_all(b"\n")?)
    }
}
