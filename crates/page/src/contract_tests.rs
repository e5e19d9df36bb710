//! The page's types are those of [`crate::contract`].

use crate::contract::*;
use std::path::Path;
use ts_rs::{Config, TS};

const HEAD: &str = "\
// Made from crates/page/src/contract.rs and what is below it by its tests; edit that instead, then
// HEADWAY_UPDATE=1 cargo test -p headway-page contract
";

/// The types' declarations, behind what stands above them.
macro_rules! declared {
    ($head:expr, $($type:ty),*) => {{
        let config = Config::default().with_large_int("number");
        let mut text = $head;
        $(
            text.push('\n');
            if let Some(docs) = <$type as TS>::docs() {
                text.push_str(docs.trim_end());
                text.push('\n');
            }
            text.push_str(&format!("export {}\n", <$type as TS>::decl(&config)));
        )*
        text
    }};
}

fn contract() -> String {
    let head = format!("{HEAD}import type {{ Whole }} from \"./whole\";\n\nexport type * from \"./whole\";\n");
    let text =
        declared!(head, Kind, How, Aspect, Pick, Filter, Stacks, Scope, Query, Answer, Groups, Lanes, Lane, Entry);
    let text = declared!(
        text,
        Slice,
        Names,
        Thread,
        Lock,
        Frame,
        Facts,
        Named,
        Link,
        Seen,
        Ledger,
        LedgerPart,
        WaitPlace,
        IdleWaits,
        VirtualThreads,
        Pin
    );
    let mut text = declared!(text, Finding, Loss, Opening, Now, Reading);
    text.push_str(&format!("\nexport const KINDS = {} as const;\n", json(&Kind::ALL)));
    text.push_str(&format!("export const HOWS = {} as const;\n", json(&How::ALL)));
    text
}

fn whole() -> String {
    let head = format!("{HEAD}import type {{ Aspect }} from \"./contract\";\n");
    let text = declared!(head, Whole, Estimates, Pressure, LockPressure, Phase, ParkStatistics, Blocker, Steal);
    declared!(text, Machine, Quota, Ready, StealWindow, Transactions, Spread, NameHeldOff)
}

fn json(values: &impl serde::Serialize) -> String {
    serde_json::to_string(values).unwrap()
}

#[test]
fn the_contract_of_the_page_is_this_one() {
    for (name, wanted) in [("contract.ts", contract()), ("whole.ts", whole())] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/data").join(name);
        if std::env::var_os("HEADWAY_UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &wanted).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == wanted, "{} is stale: HEADWAY_UPDATE=1 cargo test -p headway-page contract", path.display());
    }
}
