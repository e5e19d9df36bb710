//! `sql`: a question and its answer.

use crate::arguments::{Format, Question};
use crate::failure::Failure;
use crate::ingest::read;
use crate::memory;
use crate::output;
use crate::session::{only_queries, over_recordings, over_store};
use datafusion::prelude::SessionContext;
use headway_rollup::Source;
use headway_store::Store;
use std::path::Path;

/// See the module's description.
///
/// # Errors
/// The question is no query, or what it is about cannot be read.
pub async fn answer(question: &Question) -> Result<(), Failure> {
    if question.format == Format::Parquet && question.output.is_none() {
        return Err(Failure::Usage("Parquet goes to a file: add --output FILE".into()));
    }
    let (session, damage) = session(question).await?;
    memory::bound(memory::limit(question.memory));
    let frame = session.sql_with_options(&question.query, only_queries()).await?;
    let schema = std::sync::Arc::new(frame.schema().as_arrow().clone());
    let rows = frame.collect().await?;
    // What is written was held before.
    memory::bound(usize::MAX);
    output::write(&schema, &rows, question.format, question.output.as_deref())?;
    match damage {
        None => Ok(()),
        Some(damage) => Err(Failure::Damaged(damage)),
    }
}

async fn session(question: &Question) -> Result<(SessionContext, Option<String>), Failure> {
    let is_store = |path: &String| path.contains("://") || Path::new(path).is_dir();
    if let [place] = &question.paths[..] {
        if is_store(place) {
            let store = Store::open(place).await?;
            return Ok((over_store(&store, question.memory).await?, None));
        }
    }
    if let Some(place) = question.paths.iter().find(|path| is_store(path)) {
        return Err(Failure::Usage(format!("{place}: name one store, or any number of recordings")));
    }
    let (mut recordings, mut damage) = (Vec::new(), None);
    for path in &question.paths {
        // What belongs together is said when it is put into a store; here each file is one.
        let source = Source { service: service_of(path), ..Source::default() };
        let rolled = read(Path::new(path), &source)?;
        damage = damage.or(rolled.problems.first().map(|problem| format!("{path} is damaged: {problem}")));
        recordings.push(rolled);
    }
    Ok((over_recordings(&recordings, question.memory).await?, damage))
}

/// The name of a recording without its folder and extensions.
fn service_of(path: &str) -> String {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.split_once(".jfr") {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name,
    }
}
