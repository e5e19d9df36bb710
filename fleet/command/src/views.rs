//! Views: the questions that are asked most, in the language of each engine. Their one source is `views.sql`.

/// The definitions, with words in braces where the engines' languages differ.
const SOURCE: &str = include_str!("views.sql");
const BEGIN: &str = "CREATE VIEW ";
/// Rollups have a view for each.
pub const PERIODS: [&str; 2] = ["hour", "day"];

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
}

/// All views, each using only earlier ones.
pub fn views(dialect: Dialect) -> Vec<View> {
    let statements = SOURCE.split(BEGIN).skip(1).filter_map(|statement| statement.split_once(" AS\n"));
    let views = statements.flat_map(|(name, rest)| {
        let query = rest.split(';').next().unwrap_or(rest);
        let periods = match name.contains("{period}") {
            true => PERIODS.map(Some).to_vec(),
            false => vec![None],
        };
        periods.into_iter().map(move |period| View {
            name: written(name, dialect, period),
            query: written(query, dialect, period),
            period,
        })
    });
    views.collect()
}

fn written(text: &str, dialect: Dialect, period: Option<&str>) -> String {
    let text = text.replace("{period}", period.unwrap_or_default());
    dialect.words().iter().fold(text, |text, (word, meaning)| text.replace(word, meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_written_in_each_language() {
        let of = |dialect: Dialect, name: &str| {
            let view = views(dialect).into_iter().find(|view| view.name == name).expect(name);
            view.query
        };
        assert!(of(Dialect::DataFusion, "owners").contains("array_element(k.frames, 1)"));
        assert!(of(Dialect::Spark, "owners").contains("try_element_at(k.frames, 1)"));
        assert!(of(Dialect::Spark, "duration_day").contains("date_trunc('day', ts) AS start_ts"));
        assert_eq!(of(Dialect::Spark, "jvm"), of(Dialect::DataFusion, "jvm"));
    }

    #[test]
    fn every_statement_of_the_source_is_a_view() {
        for dialect in [Dialect::DataFusion, Dialect::Spark] {
            let views = views(dialect);
            let statements = SOURCE.matches("CREATE VIEW").count();
            let periods = views.iter().filter(|view| view.period.is_some()).count();
            assert_eq!(views.len(), statements + periods / 2, "{dialect:?}");
            for view in views {
                let text = format!("{} {}", view.name, view.query);
                assert!(!text.contains(['{', '}', ';']) && !text.contains("--"), "{text}");
                assert!(view.query.starts_with("SELECT") || view.query.starts_with("WITH"), "{text}");
            }
        }
    }
}
