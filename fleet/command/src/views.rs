//! Views: the questions that are asked most, in the language of each engine. Their one source is `views.sql`.

/// The definitions, with words in braces where the engines' languages differ.
const SOURCE: &str = include_str!("views.sql");
const BEGIN: &str = "CREATE VIEW ";
/// Rollups have a view for each.
pub const PERIODS: [&str; 2] = ["hour", "day"];
/// What stands for the words of a rollup whose hours are kept, in each of its definitions: the span in the view's name,
/// the unit of its rows, and the minutes that they are made of.
const SPANS: [[(&str, &str); 3]; 2] = [
    [("{span}", "hour_open"), ("{unit}", "hour"), ("{minutes}", "minute_open")],
    [("{span}", "day"), ("{unit}", "day"), ("{minutes}", "minute")],
];

/// Whose language a definition is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Apache DataFusion, which answers here.
    DataFusion,
    /// Apache Spark.
    Spark,
}

/// A view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its name.
    pub name: String,
    /// The query that it stands for.
    pub query: String,
    /// For a rollup, what its rows come to: `hour` or `day`.
    pub period: Option<&'static str>,
}

impl Dialect {
    /// What stands for each word in braces.
    const fn words(self) -> [(&'static str, &'static str); 2] {
        match self {
            Dialect::DataFusion => [("{each}", "unnest"), ("{nth}", "array_element")],
            Dialect::Spark => [("{each}", "explode"), ("{nth}", "try_element_at")],
        }
    }

    /// A text in a query.
    pub fn text(self, text: &str) -> String {
        match self {
            Dialect::DataFusion => format!("'{}'", text.replace('\'', "''")),
            // Two quotes are one since Spark 4 only. What looks like a variable (`${env:HOME}`) would be replaced.
            Dialect::Spark => {
                format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'").replace("${", r"$\{"))
            }
        }
    }

    /// A time in a query, in microseconds since the Unix epoch.
    pub fn time(self, us: i64) -> String {
        match self {
            Dialect::DataFusion => format!("to_timestamp_micros({us})"),
            Dialect::Spark => format!("timestamp_micros({us})"),
        }
    }
}

/// All views, each using only earlier ones.
pub fn views(dialect: Dialect) -> Vec<View> {
    let statements = SOURCE.split(BEGIN).skip(1).filter_map(|statement| statement.split_once(" AS\n"));
    let views = statements.flat_map(|(name, rest)| {
        let query = rest.split(';').next().unwrap_or(rest);
        definitions(name).into_iter().map(move |words| {
            let name = written(name, dialect, &words);
            let period = PERIODS.into_iter().find(|period| name.ends_with(&format!("_{period}")));
            View { query: written(query, dialect, &words), name, period }
        })
    });
    views.collect()
}

/// The view of this name.
pub fn view(name: &str, dialect: Dialect) -> Option<View> {
    views(dialect).into_iter().find(|view| view.name == name)
}

/// What stands for the words in braces, in each definition that a statement is.
fn definitions(name: &str) -> Vec<Vec<(&'static str, &'static str)>> {
    if name.contains("{period}") {
        return PERIODS.map(|period| vec![("{period}", period)]).to_vec();
    }
    match name.contains("{span}") {
        true => SPANS.map(|span| span.to_vec()).to_vec(),
        false => vec![Vec::new()],
    }
}

fn written(text: &str, dialect: Dialect, words: &[(&str, &str)]) -> String {
    let words = words.iter().chain(&dialect.words()).copied().collect::<Vec<_>>();
    words.iter().fold(text.to_owned(), |text, (word, meaning)| text.replace(word, meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_written_in_each_language() {
        let of = |dialect: Dialect, name: &str| view(name, dialect).expect(name).query;
        assert!(of(Dialect::DataFusion, "owners").contains("array_element(k.frames, 1)"));
        assert!(of(Dialect::Spark, "owners").contains("try_element_at(k.frames, 1)"));
        assert!(of(Dialect::Spark, "duration_day").contains("date_trunc('day', ts) AS start_ts"));
        assert_eq!(of(Dialect::Spark, "jvm"), of(Dialect::DataFusion, "jvm"));
        assert!(of(Dialect::Spark, "lock_hour_open")
            .contains("date_trunc('hour', ts) AS start_ts, * FROM lock_minute_open"));
        assert!(of(Dialect::Spark, "lock_day").contains("date_trunc('day', ts) AS start_ts, * FROM lock_minute)"));
    }

    #[test]
    fn names_stay_texts_in_each_language() {
        let name = r"o'er \' ${env:HOME} OR 1";
        assert_eq!(Dialect::DataFusion.text(name), r"'o''er \'' ${env:HOME} OR 1'");
        assert_eq!(Dialect::Spark.text(name), r"'o\'er \\\' $\{env:HOME} OR 1'");
    }

    #[test]
    fn rollups_are_views_of_a_period() {
        for period in PERIODS {
            let of_period = views(Dialect::Spark).into_iter().filter(|view| view.period == Some(period));
            let names: Vec<_> = of_period.map(|view| view.name.replace(&format!("_{period}"), "")).collect();
            let mut sorted = names.clone();
            sorted.sort();
            assert_eq!(sorted, ["duration", "load", "lock", "wait"], "{period}");
        }
    }

    #[test]
    fn every_statement_of_the_source_is_a_view() {
        for dialect in [Dialect::DataFusion, Dialect::Spark] {
            let views = views(dialect);
            let statements = SOURCE.matches("CREATE VIEW").count();
            let twice = SOURCE.lines().filter(|line| line.starts_with(BEGIN) && line.contains('{')).count();
            assert_eq!(views.len(), statements + twice, "{dialect:?}");
            for view in views {
                let text = format!("{} {}", view.name, view.query);
                assert!(!text.contains(['{', '}', ';']) && !text.contains("--"), "{text}");
                assert!(view.query.starts_with("SELECT") || view.query.starts_with("WITH"), "{text}");
            }
        }
    }
}
