//! pprof: gzipped protocol buffers with both weights of every calling context,
//! samples (or contentions) and time. Where threads are distinguished (always, by the
//! command line), the thread is a label, `thread`, that `pprof -tagfocus` understands.

pub mod message;

use crate::Style;
use flate2::write::GzEncoder;
use flate2::Compression;
use headway_analysis::method::{CallTree, Context, Measure, Origin, Profile, Unit};
use message::{Function, Label, Line, Location, Mapping, Sample, ValueType};
use prost::Message;
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes a profile.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&encode(profile, style).encode_to_vec())?;
    packed.finish().map(drop)
}

/// The message of a profile.
pub fn encode(profile: &Profile, style: &Style) -> message::Profile {
    let mut writer = Writer::default();
    writer.text("");
    let (count, time) = match profile.measure {
        Measure::Cpu => ("samples", "cpu"),
        Measure::Wall => ("samples", "wall"),
        Measure::Contender | Measure::Owner => ("contentions", "delay"),
        _ => ("samples", "time"),
    };
    writer.out.sample_type = vec![writer.value_type(count, "count"), writer.value_type(time, "nanoseconds")];
    let default = if style.unit(profile) == Unit::Samples { count } else { time };
    writer.out.default_sample_type = writer.text(default);
    writer.out.time_nanos = signed(profile.start.0);
    writer.out.duration_nanos = signed(profile.duration.0);
    writer.mapping(&profile.recording.java_arguments);
    let comment = writer.text(&style.title);
    writer.out.comment = vec![comment];
    for (index, context) in profile.tree.contexts().filter(|(_, context)| !context.own.is_zero()) {
        writer.sample(&profile.tree, index, context);
    }
    writer.out
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[derive(Default)]
struct Writer {
    out: message::Profile,
    texts: HashMap<String, i64>,
    functions: HashMap<u32, u64>,
    locations: HashMap<(u32, u32), u64>,
}

/// A source file's path below the root of its sources: files of different packages
/// may have one name. `com.acme.Shop.sell` in `Shop.java` is in `com/acme/Shop.java`.
fn path_of(method: &str, source_file: &str) -> String {
    let class = method.rsplit_once('.').map_or("", |(class, _)| class);
    match class.rsplit_once('.') {
        Some((package, _)) if !source_file.is_empty() && !source_file.contains('/') => {
            format!("{}/{source_file}", package.replace('.', "/"))
        }
        _ => source_file.to_owned(),
    }
}

impl Writer {
    fn text(&mut self, text: &str) -> i64 {
        if let Some(id) = self.texts.get(text) {
            return *id;
        }
        let id = self.out.string_table.len() as i64;
        self.out.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), id);
        id
    }

    fn value_type(&mut self, ty: &str, unit: &str) -> ValueType {
        ValueType { ty: self.text(ty), unit: self.text(unit) }
    }

    /// One mapping that says that names are resolved, so that no reader tries.
    fn mapping(&mut self, program: &str) {
        let name = program.split_whitespace().next().filter(|name| !name.is_empty()).unwrap_or("java");
        let filename = self.text(name);
        self.out.mapping.push(Mapping {
            id: 1,
            filename,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
            ..Mapping::default()
        });
    }

    fn sample(&mut self, tree: &CallTree, index: u32, own: &Context) {
        let mut sample = Sample { value: vec![signed(own.own.count), signed(own.own.ns)], ..Sample::default() };
        for at in tree.path(index).into_iter().rev() {
            let Some(context) = tree.context(at) else { continue };
            let method = tree.method(context.method);
            if method.origin == Origin::Threads {
                let (key, str) = (self.text("thread"), self.text(method.name));
                sample.label.push(Label { key, str, ..Label::default() });
            } else {
                sample.location_id.push(self.location(tree, context));
            }
        }
        self.out.sample.push(sample);
    }

    fn location(&mut self, tree: &CallTree, context: &Context) -> u64 {
        let key = (context.method, context.line);
        if let Some(id) = self.locations.get(&key) {
            return *id;
        }
        let function_id = self.function(tree, context.method);
        let id = self.out.location.len() as u64 + 1;
        let line = vec![Line { function_id, line: i64::from(context.line) }];
        self.out.location.push(Location { id, mapping_id: 1, line, ..Location::default() });
        self.locations.insert(key, id);
        id
    }

    fn function(&mut self, tree: &CallTree, method: u32) -> u64 {
        if let Some(id) = self.functions.get(&method) {
            return *id;
        }
        let described = tree.method(method);
        let name = self.text(described.name);
        let filename = self.text(&path_of(described.name, described.source_file));
        let id = self.out.function.len() as u64 + 1;
        self.out.function.push(Function { id, name, system_name: name, filename, ..Function::default() });
        self.functions.insert(method, id);
        id
    }
}
