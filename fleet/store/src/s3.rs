//! A bucket on S3: how long its answers are waited for, and what is said if none comes.

use crate::error::StoreError;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::{ClientConfigKey, RetryConfig};
use std::error::Error;
use std::time::Duration;

/// How long a request is waited for, and how often it is tried. A failed attempt is followed by another one only within
/// `within`, after a pause, so a request takes little more than `within` and `request` together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Until there is a connection.
    pub connect: Duration,
    /// From the beginning, connecting included, to the last byte of the answer.
    pub request: Duration,
    /// Attempts after the first one.
    pub retries: usize,
    /// No attempt begins later.
    pub within: Duration,
}

impl Patience {
    /// For the first request, of a few bytes: where nothing answers, that is said soon.
    pub const FIRST: Patience = Patience::of(10, 4, 15);
    /// For files: one of a compacted day has up to 256 MB.
    pub const WORK: Patience = Patience::of(30, 10, 45);

    const fn of(request: u64, retries: usize, within: u64) -> Patience {
        Patience {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(request),
            retries,
            within: Duration::from_secs(within),
        }
    }
}

/// The settings of the environment: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT` and their like. `AWS_TIMEOUT` and
/// `AWS_CONNECT_TIMEOUT` (`30s`) count before `patience`.
pub(crate) fn from_environment(patience: Patience) -> AmazonS3Builder {
    limited(AmazonS3Builder::from_env(), patience, |variable| std::env::var_os(variable).is_some())
}

/// With limits, except those that are set already.
fn limited(builder: AmazonS3Builder, patience: Patience, is_set: impl Fn(&str) -> bool) -> AmazonS3Builder {
    let limits = [
        ("AWS_TIMEOUT", ClientConfigKey::Timeout, patience.request),
        ("AWS_CONNECT_TIMEOUT", ClientConfigKey::ConnectTimeout, patience.connect),
    ];
    let retries =
        RetryConfig { max_retries: patience.retries, retry_timeout: patience.within, ..RetryConfig::default() };
    let to_set = limits.into_iter().filter(|(variable, ..)| !is_set(variable));
    to_set.fold(builder.with_retry(retries), |builder, (_, key, limit)| {
        builder.with_config(AmazonS3ConfigKey::Client(key), format!("{}ms", limit.as_millis()))
    })
}

/// The bucket of these settings.
pub(crate) fn bucket(builder: AmazonS3Builder, name: &str) -> object_store::Result<AmazonS3> {
    builder.with_bucket_name(name).build()
}

/// Where this machine's credentials are asked for if the environment has none.
const INSTANCE: [&str; 2] = ["/latest/api/token", "/latest/meta-data/"];

/// What to say of a request of the store `place` that it did not answer, or that could not be made without
/// credentials; `None` of any other.
pub(crate) fn unanswered(place: &str, error: &object_store::Error) -> Option<StoreError> {
    let sentence = error.to_string();
    if INSTANCE.iter().any(|path| sentence.contains(path)) {
        return Some(StoreError::NoCredentials(place.to_owned()));
    }
    let why = match kind(error)? {
        HttpErrorKind::Timeout => "no answer within the time limit (AWS_TIMEOUT and AWS_CONNECT_TIMEOUT raise it)",
        HttpErrorKind::Connect => "no connection",
        _ => return None,
    };
    Some(StoreError::NoAnswer(place.to_owned(), why))
}

/// What failed beneath the protocol.
fn kind(error: &object_store::Error) -> Option<HttpErrorKind> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Store;
    use object_store::prefix::PrefixStore;
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    const PATIENCE: Patience = Patience {
        connect: Duration::from_secs(5),
        request: Duration::from_millis(100),
        retries: 2,
        within: Duration::from_secs(60),
    };
    const SILENT: &str = "s3://locks/rows cannot be reached: no answer within the time limit (AWS_TIMEOUT and AWS_CONNECT_TIMEOUT raise it). \
                          Check AWS_ENDPOINT, AWS_REGION, the network and proxies";

    /// A server that takes connections and never answers, and how many it took.
    fn silent() -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let taken = Arc::new(AtomicUsize::new(0));
        let count = taken.clone();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for connection in listener.incoming() {
                open.push(connection);
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        (address, taken)
    }

    fn store(endpoint: &str) -> Store {
        on(AmazonS3Builder::new().with_endpoint(endpoint).with_access_key_id("AKID").with_secret_access_key("SECRET"))
    }

    fn on(builder: AmazonS3Builder) -> Store {
        let builder = builder.with_allow_http(true);
        let bucket = bucket(limited(builder, PATIENCE, |_| false), "locks").expect("a bucket");
        Store::on(Arc::new(PrefixStore::new(bucket, "rows")), "s3://locks/rows")
    }

    fn run<F: std::future::Future<Output = ()>>(test: F) {
        tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
    }

    #[test]
    fn a_server_that_never_answers_is_named_after_a_few_attempts() {
        run(async {
            let (endpoint, taken) = silent();
            let error = store(&endpoint).check_format().await.expect_err("no answer");
            assert_eq!(error.to_string(), SILENT);
            assert_eq!(taken.load(Ordering::SeqCst), 1 + PATIENCE.retries, "attempts");
        });
    }

    #[test]
    fn nothing_more_is_tried_where_the_first_put_has_no_answer() {
        run(async {
            let (endpoint, taken) = silent();
            let store = store(&endpoint);
            let opened = Store::open_or_make_on(store.objects.clone(), store.place()).await;
            assert_eq!(opened.expect_err("no answer").to_string(), SILENT);
            // Whether the put arrived is not known, so it is not repeated.
            assert_eq!(taken.load(Ordering::SeqCst), 1, "attempts");
        });
    }

    #[test]
    fn a_server_that_is_not_there_is_named() {
        run(async {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
            drop(listener);
            let error = store(&endpoint).check_format().await.expect_err("no connection").to_string();
            assert!(error.starts_with("s3://locks/rows cannot be reached: no connection. Check "), "{error}");
        });
    }

    #[test]
    fn without_credentials_it_is_said_what_to_set() {
        run(async {
            let (endpoint, _) = silent();
            let store = on(AmazonS3Builder::new().with_endpoint(&endpoint).with_metadata_endpoint(&endpoint));
            let error = store.check_format().await.expect_err("no credentials").to_string();
            let said = "there are no credentials for s3://locks/rows: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
            assert!(error.starts_with(said), "{error}");
        });
    }
}
