//! The constants of a chunk, as the file has them.

use super::cursor::{Cursor, Text};
use super::schema::{Field, Schema, Type, Value};
use crate::hash::{IdMap, IdSet};
use std::sync::Arc;

/// A string or a number that refers to one.
#[derive(Clone, Debug, Default)]
pub(crate) enum Name {
    /// No string.
    #[default]
    None,
    /// The string itself.
    Here(Arc<str>),
    /// A symbol.
    Symbol(u64),
    /// A constant of the string pool.
    String(u64),
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawThread {
    pub(crate) os_name: Name,
    pub(crate) os_id: u64,
    pub(crate) java_name: Name,
    pub(crate) java_id: u64,
    pub(crate) group: u64,
    pub(crate) is_virtual: bool,
    /// What Headway's recordings of format version 1 say about it.
    pub(crate) is_service: Option<bool>,
}

/// A method.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawMethod {
    pub(crate) class: u64,
    pub(crate) name: Name,
    pub(crate) descriptor: Name,
    pub(crate) source_file: Name,
    pub(crate) modifiers: u32,
    pub(crate) hidden: bool,
}

/// A frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawFrame {
    pub(crate) method: u64,
    pub(crate) line: u32,
    pub(crate) bci: i32,
    pub(crate) kind: u32,
    pub(crate) approximate: bool,
}

/// A stack trace: a range of [`Pools::frames`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawStack {
    pub(crate) first: usize,
    pub(crate) len: usize,
    pub(crate) truncated: bool,
}

/// A lock of a Headway recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawLock {
    pub(crate) class: u64,
    pub(crate) identity_hash: u32,
    pub(crate) name: Name,
}

/// Pools whose constants are a name each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Named {
    Symbol,
    String,
    FrameType,
    ThreadState,
    ExitCause,
    WaitOutcome,
    LossCause,
    ParkOutcome,
    ThreadGroup,
}

const NAMED: usize = Named::ThreadGroup as usize + 1;

/// See the module's description.
#[derive(Default)]
pub(crate) struct Pools {
    named: [IdMap<u64, Arc<str>>; NAMED],
    /// Threads in the order of the file.
    pub(crate) threads: Vec<(u64, RawThread)>,
    /// Names of the classes.
    pub(crate) classes: IdMap<u64, Name>,
    pub(crate) methods: IdMap<u64, RawMethod>,
    pub(crate) stacks: IdMap<u64, RawStack>,
    pub(crate) frames: Vec<RawFrame>,
    pub(crate) locks: IdMap<u64, RawLock>,
    /// True if service threads are named, and a thread that is not is none.
    pub(crate) names_service_threads: bool,
    service_threads: IdSet<u64>,
    /// Source files, by method.
    source_files: IdMap<u64, u64>,
    /// Indices of approximate frames, by stack trace.
    approximate: IdMap<u64, Arc<str>>,
}

/// Kinds of pools that mean something here.
enum PoolKind {
    Named(Named),
    Thread,
    Class,
    Method,
    Stack,
    SourceFile,
    Approximate,
    Unknown,
}

fn kind(name: &str) -> PoolKind {
    match name {
        "java.lang.Thread" => PoolKind::Thread,
        "java.lang.Class" => PoolKind::Class,
        "jdk.types.Method" => PoolKind::Method,
        "jdk.types.StackTrace" => PoolKind::Stack,
        "jdk.types.Symbol" => PoolKind::Named(Named::Symbol),
        "java.lang.String" => PoolKind::Named(Named::String),
        "jdk.types.FrameType" => PoolKind::Named(Named::FrameType),
        "jdk.types.ThreadState" => PoolKind::Named(Named::ThreadState),
        "jdk.types.ThreadGroup" => PoolKind::Named(Named::ThreadGroup),
        "headway.types.ExitCause" => PoolKind::Named(Named::ExitCause),
        "headway.types.WaitOutcome" => PoolKind::Named(Named::WaitOutcome),
        "headway.types.ParkOutcome" => PoolKind::Named(Named::ParkOutcome),
        "headway.types.LossCause" => PoolKind::Named(Named::LossCause),
        "headway.types.SourceFile" => PoolKind::SourceFile,
        "headway.types.ApproximateFrames" => PoolKind::Approximate,
        _ => PoolKind::Unknown,
    }
}

impl Pools {
    /// A constant that is a name.
    pub(crate) fn named(&self, pool: Named, key: u64) -> Option<&Arc<str>> {
        self.named[pool as usize].get(&key)
    }

    /// The string that a name stands for.
    pub(crate) fn text(&self, name: &Name) -> Option<Arc<str>> {
        match name {
            Name::None => None,
            Name::Here(text) => Some(text.clone()),
            Name::Symbol(key) => self.named(Named::Symbol, *key).cloned(),
            Name::String(key) => self.named(Named::String, *key).cloned(),
        }
    }

    /// Takes in a checkpoint event; `body` is what follows its type number.
    /// `None` if it is damaged; what came before the damage is taken in.
    pub(crate) fn checkpoint(&mut self, schema: &Schema, mut body: Cursor<'_>) -> Option<()> {
        for _ in 0..3 {
            body.long()?; // start, duration, distance to the previous one
        }
        body.byte()?; // what kind of checkpoint
        for _ in 0..body.count()? {
            let ty = &schema.types[schema.index(body.long()?)?];
            let kind = kind(&ty.name);
            for _ in 0..body.count()? {
                let key = body.long()?;
                self.constant(&kind, key, ty, schema, &mut body)?;
            }
        }
        Some(())
    }

    /// Takes in an event that defines a lock; `None` if it is damaged.
    pub(crate) fn lock(&mut self, ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<()> {
        let (mut id, mut lock) = (0, RawLock::default());
        for field in &ty.fields {
            let value = schema.value(field, body)?;
            match &*field.name {
                "address" => id = number(&value),
                "monitorClass" => lock.class = number(&value),
                "identityHash" => lock.identity_hash = number(&value) as u32,
                "name" => lock.name = name(value, field, schema),
                _ => {}
            }
        }
        self.locks.insert(id, lock);
        Some(())
    }

    /// Takes in an event that names a service thread; `None` if it is damaged.
    pub(crate) fn service_thread(&mut self, ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<()> {
        for field in &ty.fields {
            let value = schema.value(field, body)?;
            if &*field.name == "thread" {
                self.service_threads.insert(number(&value));
            }
        }
        Some(())
    }

    /// Whether a thread is none of the application's; `None` if the recording does
    /// not say so.
    pub(crate) fn is_service(&self, key: u64, raw: &RawThread) -> Option<bool> {
        match self.names_service_threads {
            true => Some(self.service_threads.contains(&key)),
            false => raw.is_service,
        }
    }

    /// The source file of a method.
    pub(crate) fn source_file(&self, key: u64, raw: &RawMethod) -> Option<Arc<str>> {
        match self.source_files.get(&key) {
            Some(symbol) => self.named(Named::Symbol, *symbol).cloned(),
            None => self.text(&raw.source_file),
        }
    }

    /// True if a frame of a stack trace stands among its approximate ones.
    pub(crate) fn is_approximate(&self, stack: u64, frame: usize) -> bool {
        let listed = |frames: &Arc<str>| frames.split(',').any(|index| index.parse() == Ok(frame));
        self.approximate.get(&stack).is_some_and(listed)
    }

    fn constant(&mut self, kind: &PoolKind, key: u64, ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<()> {
        match kind {
            PoolKind::Thread => {
                let thread = thread(ty, schema, body)?;
                self.threads.push((key, thread));
            }
            PoolKind::Class => {
                let name = class(ty, schema, body)?;
                self.classes.insert(key, name);
            }
            PoolKind::Method => {
                let method = method(ty, schema, body)?;
                self.methods.insert(key, method);
            }
            PoolKind::Stack => {
                let stack = self.stack(ty, schema, body)?;
                self.stacks.insert(key, stack);
            }
            PoolKind::Named(pool) => {
                let name = named(ty, schema, body)?;
                self.named[*pool as usize].insert(key, name);
            }
            PoolKind::SourceFile => {
                let mut symbol = 0;
                for field in &ty.fields {
                    symbol = number(&schema.value(field, body)?);
                }
                self.source_files.insert(key, symbol);
            }
            PoolKind::Approximate => {
                let frames = named(ty, schema, body)?;
                self.approximate.insert(key, frames);
            }
            PoolKind::Unknown => skip(ty, schema, body)?,
        }
        Some(())
    }

    fn stack(&mut self, ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<RawStack> {
        let mut stack = RawStack { first: self.frames.len(), len: 0, truncated: false };
        for field in &ty.fields {
            if field.array && !field.pool && &*field.name == "frames" {
                let frame_type = schema.types.get(field.ty)?;
                for _ in 0..body.count()? {
                    let frame = frame(frame_type, schema, body)?;
                    self.frames.push(frame);
                }
            } else if let Value::Number(value) = schema.value(field, body)? {
                stack.truncated |= &*field.name == "truncated" && value != 0;
            }
        }
        stack.len = self.frames.len() - stack.first;
        Some(stack)
    }
}

fn skip(ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<()> {
    ty.fields.iter().try_for_each(|field| schema.skip(field, body))
}

/// A field's value as a name.
fn name(value: Value, field: &Field, schema: &Schema) -> Name {
    match value {
        Value::Text(Text::Here(text)) => Name::Here(text.into()),
        Value::Text(Text::Constant(key)) => Name::String(key),
        Value::Number(0) => Name::None,
        Value::Number(key) if schema.types.get(field.ty).is_some_and(|ty| &*ty.name == "java.lang.String") => {
            Name::String(key)
        }
        Value::Number(key) => Name::Symbol(key),
        _ => Name::None,
    }
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Number(value) => *value,
        _ => 0,
    }
}

fn named(ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<Arc<str>> {
    // A pool of plain strings has no fields: its constants are the strings.
    if ty.fields.is_empty() {
        return Some(match body.string()? {
            Text::Here(text) => text.into(),
            _ => "".into(),
        });
    }
    let mut name: Arc<str> = "".into();
    for field in &ty.fields {
        if let Value::Text(Text::Here(text)) = schema.value(field, body)? {
            name = text.into();
        }
    }
    Some(name)
}

fn thread(ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<RawThread> {
    let mut thread = RawThread::default();
    for field in &ty.fields {
        let value = schema.value(field, body)?;
        match &*field.name {
            "osName" => thread.os_name = name(value, field, schema),
            "javaName" => thread.java_name = name(value, field, schema),
            "osThreadId" => thread.os_id = number(&value),
            "javaThreadId" => thread.java_id = number(&value),
            "group" => thread.group = number(&value),
            "virtual" => thread.is_virtual = number(&value) != 0,
            "service" => thread.is_service = Some(number(&value) != 0),
            _ => {}
        }
    }
    Some(thread)
}

fn class(ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<Name> {
    let mut found = Name::None;
    for field in &ty.fields {
        let value = schema.value(field, body)?;
        if &*field.name == "name" {
            found = name(value, field, schema);
        }
    }
    Some(found)
}

fn method(ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<RawMethod> {
    let mut method = RawMethod::default();
    for field in &ty.fields {
        let value = schema.value(field, body)?;
        match &*field.name {
            "type" => method.class = number(&value),
            "name" => method.name = name(value, field, schema),
            "descriptor" => method.descriptor = name(value, field, schema),
            "sourceFile" => method.source_file = name(value, field, schema),
            "modifiers" => method.modifiers = number(&value) as u32,
            "hidden" => method.hidden = number(&value) != 0,
            _ => {}
        }
    }
    Some(method)
}

fn frame(ty: &Type, schema: &Schema, body: &mut Cursor<'_>) -> Option<RawFrame> {
    let mut frame = RawFrame { bci: -1, ..RawFrame::default() };
    if ty.fields.is_empty() {
        return None;
    }
    for field in &ty.fields {
        let value = number(&schema.value(field, body)?);
        match &*field.name {
            "method" => frame.method = value,
            "lineNumber" => frame.line = value as u32,
            "bytecodeIndex" => frame.bci = value as i32,
            "type" => frame.kind = value as u32,
            "approximate" => frame.approximate = value != 0,
            _ => {}
        }
    }
    Some(frame)
}
