//! `fleet submit`: the store's tables and views handed to Apache Spark, by its own command.

use crate::arguments::{Job, Period, RowFormat, Submit};
use crate::failure::Failure;
use crate::tables::{tables, Tables};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The job that Spark runs, and what it is called there.
const JOB: &str = include_str!("../../spark/headway_fleet_spark.py");
const JOB_NAME: &str = "headway_fleet_spark.py";
const TABLES_NAME: &str = "tables.json";
/// Where the job leaves a sentence: of the job's own standard error, Spark makes standard output.
const SAID_NAME: &str = "said.txt";

/// See the module's description.
///
/// # Errors
/// The store fails, Spark is not here, or it fails.
pub async fn submit(asked: &Submit) -> Result<(), Failure> {
    let tables = tables(&asked.place.store, &asked.days).await?;
    if let Some(unknown) = asked.job.views.iter().find(|name| !tables.has_view(name)) {
        return Err(Failure::Usage(format!("there is no view \"{unknown}\"")));
    }
    if let Some(folder) = &asked.prepare {
        write_files(&tables, folder)?;
        println!("{}", shown(&words(asked, Path::new("spark-submit"), folder)?));
        return Ok(());
    }
    let spark = spark_submit().ok_or_else(|| {
        Failure::Failed(
            "Apache Spark is not here: set SPARK_HOME, put spark-submit on the PATH, or install pyspark for python3"
                .into(),
        )
    })?;
    // Only its owner reads it, and it is removed at the end.
    let folder = tempfile::Builder::new().prefix("headway-fleet-").tempdir();
    let folder = folder.map_err(|error| Failure::Failed(format!("cannot make a folder: {error}")))?;
    write_files(&tables, folder.path())?;
    run(&words(asked, &spark, folder.path())?, &folder.path().join(SAID_NAME))
}

/// The job and what it reads.
fn write_files(tables: &Tables, folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::Failed(format!("cannot write into {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(folder.join(JOB_NAME), JOB).map_err(failed)?;
    fs::write(folder.join(TABLES_NAME), tables.to_json()?).map_err(failed)
}

/// The command that runs the job.
fn words(asked: &Submit, spark: &Path, folder: &Path) -> Result<Vec<OsString>, Failure> {
    let mut words: Vec<OsString> = vec![spark.into()];
    words.extend(asked.options.iter().map(OsString::from));
    words.extend([folder.join(JOB_NAME).into(), "--tables".into(), folder.join(TABLES_NAME).into()]);
    let Job { query, views, rollup, regressions } = &asked.job;
    if *regressions {
        let program = env::current_exe();
        let program = program.map_err(|error| Failure::Failed(format!("cannot find this program: {error}")))?;
        if asked.prepare.is_none() {
            words.extend(["--said".into(), folder.join(SAID_NAME).into()]);
        }
        words.extend(["--headway-fleet".into(), program.into(), "--regressions".into()]);
        words.extend(asked.search.words().into_iter().map(OsString::from));
        return Ok(words);
    }
    let mut add = |option: &str, value: &str| words.extend([OsString::from(option), OsString::from(value)]);
    query.iter().for_each(|query| add("--query", query));
    views.iter().for_each(|view| add("--view", view));
    rollup.iter().for_each(|period| add("--rollup", name_of(*period)));
    asked.output.iter().for_each(|output| add("--output", &from_the_root(output)));
    let format = match asked.format {
        RowFormat::Parquet => "parquet",
        RowFormat::Csv => "csv",
        RowFormat::Json => "json",
    };
    add("--format", format);
    Ok(words)
}

const fn name_of(period: Period) -> &'static str {
    match period {
        Period::Hour => "hour",
        Period::Day => "day",
    }
}

/// Spark would take a path without a scheme for one of its default file system.
fn from_the_root(place: &str) -> String {
    match place.contains("://") {
        true => place.to_owned(),
        false => {
            std::path::absolute(place).ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or(place.into())
        }
    }
}

/// Runs it. A search that fails leaves a sentence in the file, and its code says what kind it is.
fn run(words: &[OsString], said: &Path) -> Result<(), Failure> {
    let (program, arguments) = words.split_first().ok_or_else(|| Failure::Failed("no command".into()))?;
    let mut command = Command::new(program);
    if env::var_os("PYSPARK_PYTHON").is_none() {
        command.env("PYSPARK_PYTHON", "python3");
    }
    let status = command.args(arguments).status();
    let status = status.map_err(|error| Failure::Failed(format!("cannot run {}: {error}", program.display())))?;
    if status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(said).ok().filter(|said| !said.is_empty());
    Err(match (said, status.code()) {
        (Some(said), Some(5)) => Failure::Found(said),
        (Some(said), Some(2)) => Failure::Usage(said),
        (Some(said), _) => Failure::Failed(said),
        (None, _) => Failure::Failed(format!("Spark failed ({status}); its messages are above")),
    })
}

/// Spark's command, where it is usually found.
fn spark_submit() -> Option<PathBuf> {
    let in_home = |home: PathBuf| Some(home.join("bin/spark-submit")).filter(|program| program.is_file());
    if let Some(home) = env::var_os("SPARK_HOME") {
        return in_home(home.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("spark-submit")).find(|program| program.is_file());
    on_path.or_else(|| in_home(python_package()?))
}

/// Where Python has pyspark, which is a whole Spark.
fn python_package() -> Option<PathBuf> {
    let find = "import pyspark, os; print(os.path.dirname(pyspark.__file__))";
    let output = Command::new("python3").args(["-c", find]).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|path| PathBuf::from(path.trim()))
}

/// As somebody would type it.
fn shown(words: &[OsString]) -> String {
    let quoted = |word: &OsString| {
        let word = word.to_string_lossy().into_owned();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["spark-submit", "--query", "SELECT 'a' FROM site", ""].map(OsString::from);
        assert_eq!(shown(&words), r"spark-submit --query 'SELECT '\''a'\'' FROM site' ''");
    }
}
