//! The page's types are those of [`crate::contract`].

use crate::contract::*;
use std::path::Path;
use ts_rs::{Config, TS};

const HEAD: &str = "\
// Made from crates/page/src/contract.rs by its tests; edit that instead, then
// HEADWAY_UPDATE=1 cargo test -p headway-page contract
";

fn typescript() -> String {
    let config = Config::default().with_large_int("number");
    let mut text = HEAD.to_owned();
    macro_rules! add {
        ($($type:ty),*) => { $(
            text.push('\n');
            if let Some(docs) = <$type as TS>::docs() {
                text.push_str(docs.trim_end());
                text.push('\n');
            }
            text.push_str(&format!("export {}\n", <$type as TS>::decl(&config)));
        )* };
    }
    add!(Kind, How, Dimension, Pick, Filter, Scope, Query, Answer, Groups, Lanes, Lane, Stretch, Slice);
    add!(Names, Thread, Lock, Frame, Facts, Finding, Loss, Opening);
    add!(Whole, Pressure, LockPressure, Phase, ParkStatistics, Blocker);
    add!(Steal, Machine, Quota, Spent, Transactions, Spread, HeldOff);
    text.push_str(&format!("\nexport const KINDS = {} as const;\n", json(&Kind::ALL)));
    text.push_str(&format!("export const HOWS = {} as const;\n", json(&How::ALL)));
    text
}

fn json(values: &impl serde::Serialize) -> String {
    serde_json::to_string(values).unwrap()
}

#[test]
fn the_contract_of_the_page_is_this_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/data/contract.ts");
    let wanted = typescript();
    if std::env::var_os("HEADWAY_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is stale: HEADWAY_UPDATE=1 cargo test -p headway-page contract", path.display());
}
