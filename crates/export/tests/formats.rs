//! What is in each format, read back by hand.
#![allow(clippy::unwrap_used)] // a test may end like that

mod support;

use headway_analysis::method::{Comparison, Grouping, Measure, ProfileOptions};
use headway_export::{collapsed, flame, pprof, Format, Style};
use prost::Message;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use support::{profile, shop, written, MS, NASTY, START};

fn text(format: Format, measure: Measure) -> String {
    String::from_utf8(written(format, &shop(measure))).unwrap()
}

fn json(format: Format, measure: Measure) -> Value {
    serde_json::from_slice(&written(format, &shop(measure))).unwrap()
}

#[test]
fn collapsed_has_a_line_per_context() {
    let text = text(Format::Collapsed, Measure::Cpu);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected = [
        "shop.Server.serve;shop.Stock.rebuild;memmove 10000000",
        "shop.Server.serve;shop.Stock.rebuild;shop.Stock.sort 35000000",
        "shop.Server.serve;shop.Stock.sell 15000000",
    ];
    assert_eq!(lines, expected);
    let mut counted = Vec::new();
    let style = Style { count_samples: true, ..Style::default() };
    collapsed::write(&shop(Measure::Cpu), &style, &mut counted).unwrap();
    assert!(String::from_utf8(counted).unwrap().contains("shop.Stock.sort 2\n"));
}

/// As every reader of this format takes it apart: the weight behind the last
/// blank, the frames between semicolons.
#[test]
fn collapsed_comes_apart_again_whatever_the_names() {
    let list: [(&str, &[&str], u64); 2] = [("t", &["a.b", NASTY], 3), ("t", &["a.b", "c\nd"], 4)];
    let text = written(Format::Collapsed, &profile(&list, ProfileOptions::default()));
    let text = String::from_utf8(text).unwrap();
    let mut stacks: Vec<(Vec<&str>, u64)> = text
        .lines()
        .map(|line| {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            (stack.split(';').collect(), weight.parse().unwrap())
        })
        .collect();
    stacks.sort_by_key(|(_, weight)| *weight);
    let nasty = NASTY.replace(';', ",");
    assert_eq!(stacks, [(vec!["a.b", nasty.as_str()], 3 * MS), (vec!["a.b", "c d"], 4 * MS)]);
}

#[test]
fn a_difference_has_both_weights() {
    let after = profile(&[("t", &["shop.Server.serve", "shop.Stock.sell"], 40)], ProfileOptions::default());
    let before = shop(Measure::Cpu);
    let comparison = Comparison::new(&before.tree, &after.tree);
    let mut out = Vec::new();
    collapsed::write_difference(&comparison, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("shop.Server.serve;shop.Stock.sell 15000000 40000000\n"), "{text}");
    assert!(text.contains("shop.Server.serve;shop.Stock.rebuild;memmove 10000000 0\n"), "{text}");
    let mut page = Vec::new();
    flame::write_difference(&comparison, (&before.tree, &after.tree), "diff", &mut page).unwrap();
    let data = page_data(&String::from_utf8(page).unwrap());
    // `sell` was a quarter of the whole before, which is now 40 ms.
    assert_eq!(data["before"], serde_json::json!([40 * MS, 10 * MS]));
}

#[test]
fn pprof_has_both_values_and_every_frame() {
    let profile = shop(Measure::Cpu);
    let packed = written(Format::Pprof, &profile);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    let message = pprof::message::Profile::decode(&bytes[..]).unwrap();
    let text = |id: i64| message.string_table[id as usize].as_str();
    assert_eq!(text(0), "");
    let types: Vec<(&str, &str)> = message.sample_type.iter().map(|ty| (text(ty.ty), text(ty.unit))).collect();
    assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
    assert_eq!(text(message.default_sample_type), "cpu");
    assert_eq!((message.time_nanos, message.duration_nanos), (START as i64, 50 * MS as i64));
    let functions: HashMap<u64, &str> = message.function.iter().map(|f| (f.id, text(f.name))).collect();
    let files: Vec<&str> = message.function.iter().map(|f| text(f.filename)).collect();
    assert!(files.contains(&"shop/Shop.java"), "{files:?}");
    let locations: HashMap<u64, u64> = message.location.iter().map(|l| (l.id, l.line[0].function_id)).collect();
    let mut stacks: Vec<(Vec<&str>, Vec<i64>)> = message
        .sample
        .iter()
        .map(|sample| {
            let frames = sample.location_id.iter().map(|id| functions[&locations[id]]).collect();
            (frames, sample.value.clone())
        })
        .collect();
    stacks.sort();
    let ms = MS as i64;
    let expected = [
        (vec!["memmove", "shop.Stock.rebuild", "shop.Server.serve"], vec![1, 10 * ms]),
        (vec!["shop.Stock.sell", "shop.Server.serve"], vec![1, 15 * ms]),
        (vec!["shop.Stock.sort", "shop.Stock.rebuild", "shop.Server.serve"], vec![2, 35 * ms]),
    ];
    assert_eq!(stacks, expected);
}

#[test]
fn pprof_has_threads_as_labels() {
    let list: [(&str, &[&str], u64); 2] = [("main", &["a.b"], 3), ("worker", &["a.b"], 4)];
    let profile =
        profile(&list, ProfileOptions { grouping: Grouping::Thread, lines: true, ..ProfileOptions::default() });
    let message = pprof::encode(&profile, &Style::default());
    let text = |id: i64| message.string_table[id as usize].as_str();
    let labels: Vec<(&str, &str)> = message
        .sample
        .iter()
        .flat_map(|sample| &sample.label)
        .map(|label| (text(label.key), text(label.str)))
        .collect();
    assert_eq!(labels, [("thread", "main"), ("thread", "worker")]);
    let files: Vec<&str> = message.function.iter().map(|function| text(function.filename)).collect();
    assert_eq!(files, ["Shop.java"], "a class in no package");
    assert_eq!(message.location.len(), 1, "the thread is no frame");
    assert_eq!(message.location[0].line[0].line, 10);
}

#[test]
fn speedscope_has_a_profile_per_thread_heaviest_first() {
    let file = json(Format::Speedscope, Measure::Wall);
    let frames = file["shared"]["frames"].as_array().unwrap();
    let profiles = file["profiles"].as_array().unwrap();
    let names: Vec<&Value> = profiles.iter().map(|profile| &profile["name"]).collect();
    assert_eq!(names, ["worker", "main"]);
    let main = &profiles[1];
    assert_eq!((&main["unit"], &main["endValue"]), (&"nanoseconds".into(), &(45 * MS).into()));
    let stack: Vec<&Value> = main["samples"][0].as_array().unwrap().iter().collect();
    let stack: Vec<&str> =
        stack.iter().map(|frame| frames[frame.as_u64().unwrap() as usize]["name"].as_str().unwrap()).collect();
    assert_eq!(stack, ["shop.Server.serve", "shop.Stock.rebuild", "shop.Stock.sort"]);
    assert_eq!(main["weights"], serde_json::json!([30 * MS, 10 * MS, 5 * MS]));
}

#[test]
fn firefox_weighs_samples_by_number_and_blocked_time_in_milliseconds() {
    let weights = |measure| {
        let mut profile = shop(Measure::Cpu);
        profile.measure = measure;
        let file: Value = serde_json::from_slice(&written(Format::Firefox, &profile)).unwrap();
        let main =
            file["threads"].as_array().unwrap().iter().find(|thread| thread["name"] == "shop.Main").unwrap().clone();
        (main["samples"]["weightType"].clone(), main["samples"]["weight"].clone())
    };
    // In units of the shortest, 5 ms.
    assert_eq!(weights(Measure::Cpu), ("samples".into(), serde_json::json!([6, 2, 1])));
    assert_eq!(weights(Measure::Contender), ("tracing-ms".into(), serde_json::json!([30.0, 10.0, 5.0])));
}

/// Samples that stand for different times cannot be counted: their weights are times.
#[test]
fn firefox_keeps_the_time_of_samples_that_are_no_multiples_of_one() {
    let mut profile = shop(Measure::Cpu);
    profile.moments[0].weight.ns += 1_500_000;
    let ns: u64 = profile.moments.iter().map(|moment| moment.weight.ns).sum();
    let file: Value = serde_json::from_slice(&written(Format::Firefox, &profile)).unwrap();
    let threads = file["threads"].as_array().unwrap();
    assert!(threads.iter().all(|thread| thread["samples"]["weightType"] == "tracing-ms"), "{file}");
    let weights = threads.iter().flat_map(|thread| thread["samples"]["weight"].as_array().unwrap());
    let milliseconds: f64 = weights.map(|weight| weight.as_f64().unwrap()).sum();
    assert!((milliseconds * 1e6 - ns as f64).abs() < 1.0, "{milliseconds} ms instead of {ns} ns");
}

/// Every index of the Firefox Profiler's tables points to something.
#[test]
fn firefox_tables_are_sound_and_hold_every_sample() {
    let file = json(Format::Firefox, Measure::Wall);
    assert!(
        file["meta"]["processedVersion"].as_u64().is_some()
            || file["meta"]["preprocessedProfileVersion"].as_u64().is_some()
    );
    assert_eq!(file["meta"]["startTime"], (START / MS) as f64);
    let threads = file["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let length = |table: &str| thread[table]["length"].as_u64().unwrap();
        let column = |table: &str, name: &str| -> Vec<Option<u64>> {
            let values = thread[table][name].as_array().unwrap_or_else(|| panic!("{table}.{name}"));
            assert_eq!(values.len() as u64, length(table), "{table}.{name}");
            values.iter().map(Value::as_u64).collect()
        };
        for (stack, prefix) in column("stackTable", "prefix").into_iter().enumerate() {
            assert!(prefix.is_none_or(|prefix| prefix < stack as u64));
        }
        assert!(column("stackTable", "frame").into_iter().flatten().all(|frame| frame < length("frameTable")));
        assert!(column("frameTable", "func").into_iter().flatten().all(|func| func < length("funcTable")));
        assert!(column("samples", "stack").into_iter().flatten().all(|stack| stack < length("stackTable")));
    }
    let samples: u64 = threads.iter().map(|thread| thread["samples"]["length"].as_u64().unwrap()).sum();
    assert_eq!(samples, 5);
    let names: Vec<&str> = threads.iter().map(|thread| thread["name"].as_str().unwrap()).collect();
    // The page calls a process by the name of its main thread.
    assert!(names.contains(&"shop.Main") && names.contains(&"worker"), "{names:?}");
}

/// The data of a flame graph's page.
fn page_data(page: &str) -> Value {
    let (_, data) = page.split_once("<script id=\"profile\" type=\"application/json\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_has_every_context_and_nothing_that_it_must_load() {
    let page = text(Format::Flame, Measure::Cpu);
    let data = page_data(&page);
    assert_eq!(data["parents"], serde_json::json!([0, 1, 2, 2, 1]));
    assert_eq!(data["totals"], serde_json::json!([60 * MS, 45 * MS, 35 * MS, 10 * MS, 15 * MS]));
    assert_eq!(data["subtitle"], "CPU time, 60.0 ms, 4 samples, in 50.0 ms");
    assert!(page.contains("default-src 'none'"));
    for reference in ["http://", "https://", "src=\"", "href=", "@import", "url("] {
        let outside = page.replace(&page_data_text(&page), "");
        assert!(!outside.contains(reference), "{reference}");
    }
}

fn page_data_text(page: &str) -> String {
    let (_, data) = page.split_once("<script id=\"profile\" type=\"application/json\">").unwrap();
    data.split_once("</script>").unwrap().0.to_owned()
}

#[test]
fn names_cannot_break_out_of_a_page() {
    let list: [(&str, &[&str], u64); 1] = [("t", &["a.b", NASTY], 3)];
    let page = String::from_utf8(written(Format::Flame, &profile(&list, ProfileOptions::default()))).unwrap();
    assert!(!page.contains("<img"), "neither in names nor in the title");
    assert_eq!(page.matches("</script>").count(), 2);
    let names = page_data(&page)["names"].clone();
    assert!(names.as_array().unwrap().iter().any(|name| name == NASTY));
}

#[test]
fn a_page_leaves_out_the_lightest_contexts_and_says_how_many() {
    let names: Vec<String> = (0..100_500).map(|i| format!("m{i}")).collect();
    let stacks: Vec<[&str; 2]> = names.iter().map(|name| ["root", name.as_str()]).collect();
    let weight = |index: usize| 1 + u64::from(index < 100);
    let list: Vec<(&str, &[&str], u64)> =
        stacks.iter().enumerate().map(|(index, stack)| ("t", &stack[..], weight(index))).collect();
    let page = String::from_utf8(written(Format::Flame, &profile(&list, ProfileOptions::default()))).unwrap();
    let data = page_data(&page);
    assert_eq!(data["left_out"], 100_400);
    assert_eq!(data["parents"].as_array().unwrap().len(), 101);
}
