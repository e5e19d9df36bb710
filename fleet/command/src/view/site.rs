//! The page's site: its questions, answered over the store.

use super::contract::{Answer, FleetOpening, Progress, Question};
use super::{questions, regressed};
use crate::failure::Failure;
use crate::regressions::Step;
use crate::session::{Database, Only};
use headway_loopback::{Asked, Reply, Replying};
use headway_page::html;
use headway_store::Store;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::{Mutex as Turn, Semaphore};
use tokio::task::JoinHandle;

/// Questions that are answered at the same time; they share the bound of memory.
const AT_A_TIME: usize = 2;

/// A store, served.
pub struct Site {
    seen: Arc<Seen>,
    /// Where queries run: the server's own thread only waits.
    runtime: Handle,
}

/// What the page sees.
struct Seen {
    store: Store,
    place: String,
    memory: usize,
    /// The tables as they were when the page was last opened.
    database: Mutex<Arc<Database>>,
    questions: Semaphore,
    /// One search for regressions at a time.
    searching: Turn<()>,
    progress: Mutex<Progress>,
}

impl Site {
    /// A site over a store, whose tables these are.
    pub fn new(store: Store, place: &str, memory: usize, database: Database) -> Site {
        let seen = Seen {
            store,
            place: place.to_owned(),
            memory,
            database: Mutex::new(Arc::new(database)),
            questions: Semaphore::new(AT_A_TIME),
            searching: Turn::new(()),
            progress: Mutex::new(Progress::Idle),
        };
        Site { seen: Arc::new(seen), runtime: Handle::current() }
    }
}

impl headway_loopback::Site for Site {
    fn reply(&self, asked: Asked) -> Replying {
        let seen = self.seen.clone();
        let running = Running(self.runtime.spawn(async move { seen.reply(asked).await }));
        Box::pin(running.end())
    }
}

/// A question under way: it ends if nobody waits for the answer.
struct Running(JoinHandle<Reply>);

impl Running {
    async fn end(mut self) -> Reply {
        (&mut self.0).await.unwrap_or_else(|_| Reply::refusal(500, "the answer to this question failed"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Seen {
    async fn reply(&self, asked: Asked) -> Reply {
        match (asked.get, asked.path.as_str()) {
            (true, "") => refused_or(self.page().await.map(Reply::page)),
            (false, "query") => match serde_json::from_str(&asked.body) {
                Ok(question) => refused_or(self.answer(&question).await.and_then(|answer| json(&answer))),
                Err(error) => Reply::refusal(400, &format!("this is no question: {error}")),
            },
            _ => Reply::nothing_here(),
        }
    }

    /// The page; what it asks from then on is about what the store has now.
    async fn page(&self) -> Result<String, Failure> {
        let database = Database::of_store(&self.store, self.memory).await?;
        *self.database.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(database);
        page(&self.place)
    }

    async fn answer(&self, question: &Question) -> Result<Answer, Failure> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match question {
            Question::Progress => Ok(Answer::Progress(self.progress().clone())),
            Question::Regressions { service } => self.search(&database, service.as_deref()).await,
            question => {
                let _turn = self.questions.acquire().await;
                let answer = questions::answer(&database, question).await?;
                answer.ok_or_else(|| Failure::Failed("this question has no answer".into()))
            }
        }
    }

    async fn search(&self, database: &Database, service: Option<&str>) -> Result<Answer, Failure> {
        let _turn = self.searching.lock().await;
        let _ends = Idle(self);
        let session = database.session(&Only::default()).await?;
        let found = regressed::find(&session, &self.place, service, &|step| self.at(step)).await?;
        Ok(Answer::Regressions(found))
    }

    fn at(&self, step: Step<'_>) {
        *self.progress() = match step {
            Step::Reading { service, number, of } => Progress::Reading { service: service.to_owned(), number, of },
            Step::Comparing => Progress::Comparing,
            Step::Naming => Progress::Naming,
        };
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A search is over, however it ended.
struct Idle<'s>(&'s Seen);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        *self.0.progress() = Progress::Idle;
    }
}

/// The page of a store.
///
/// # Errors
/// There is none in this program.
pub fn page(place: &str) -> Result<String, Failure> {
    let opening = FleetOpening { store: place.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    html::served_as(html::FLEET, &opening).map_err(|error| Failure::Failed(error.to_string()))
}

fn json(answer: &Answer) -> Result<Reply, Failure> {
    let json = serde_json::to_string(answer);
    json.map(Reply::json).map_err(|error| Failure::Failed(format!("cannot write the answer: {error}")))
}

fn refused_or(reply: Result<Reply, Failure>) -> Reply {
    reply.unwrap_or_else(|failure| {
        let status = if matches!(failure, Failure::Usage(_)) { 400 } else { 500 };
        Reply::refusal(status, &failure.to_string())
    })
}
