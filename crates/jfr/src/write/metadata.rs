//! The metadata event: every type, field and annotation of [`crate::schema`].

use crate::encode::Encoder;
use crate::schema::{self, id, Field, Note, Role, Store, Type};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

/// An element of the metadata's tree.
struct Element {
    name: &'static str,
    attributes: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    children: Vec<Element>,
}

impl Element {
    fn new(name: &'static str) -> Element {
        Element { name, attributes: Vec::new(), children: Vec::new() }
    }

    fn with(mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) -> Element {
        self.attributes.push((key.into(), value.into()));
        self
    }
}

/// The metadata event, the same in every chunk of every recording.
pub(crate) fn event() -> &'static [u8] {
    static EVENT: OnceLock<Vec<u8>> = OnceLock::new();
    EVENT.get_or_init(build)
}

fn build() -> Vec<u8> {
    let tree = tree();
    let mut strings = Strings::default();
    strings.collect(&tree);
    let mut encoder = Encoder::default();
    encoder.event(|e| {
        e.varint(u64::from(id::METADATA));
        e.varint(0); // start time: reading ignores it
        e.varint(0); // duration
        e.varint(1); // id of this metadata: never another one
        e.varint(strings.list.len() as u64);
        for string in &strings.list {
            e.string(string);
        }
        strings.encode(&tree, e);
    });
    encoder.bytes
}

fn tree() -> Element {
    let mut metadata = Element::new("metadata");
    metadata.children = schema::types().map(class).collect();
    let region = Element::new("region").with("locale", "en").with("gmtOffset", "0").with("dst", "0");
    let mut root = Element::new("root");
    root.children = vec![metadata, region];
    root
}

fn class(ty: &Type) -> Element {
    let mut element = Element::new("class").with("name", ty.name);
    element = match ty.role {
        Role::Plain => element,
        Role::Simple => element.with("simpleType", "true"),
        Role::Annotation => element.with("superType", "java.lang.annotation.Annotation"),
        Role::Event => element.with("superType", "jdk.jfr.Event"),
    };
    element = element.with("id", ty.id.to_string());
    element.children = ty.fields.iter().map(field).chain(ty.notes.iter().map(note)).collect();
    element
}

fn field(field: &Field) -> Element {
    let mut element = Element::new("field").with("name", field.name).with("class", field.ty.to_string());
    element = match field.store {
        Store::Inline => element,
        Store::Pool => element.with("constantPool", "true"),
        Store::Array => element.with("dimension", "1"),
    };
    element.children = field.notes.iter().map(note).collect();
    element
}

fn note(note: &Note) -> Element {
    let annotation = |ty: schema::TypeId| Element::new("annotation").with("class", ty.to_string());
    match note {
        Note::Label(text) => annotation(id::LABEL).with("value", *text),
        Note::Description(text) => annotation(id::DESCRIPTION).with("value", *text),
        Note::Bare(ty) => annotation(*ty),
        Note::Unit(ty, unit) => annotation(*ty).with("value", *unit),
        Note::Category(names) => names
            .iter()
            .enumerate()
            .fold(annotation(id::CATEGORY), |element, (i, name)| element.with(format!("value-{i}"), *name)),
    }
}

/// The strings of a tree, each once.
#[derive(Default)]
struct Strings {
    list: Vec<String>,
    index: HashMap<String, u64>,
}

impl Strings {
    fn collect(&mut self, element: &Element) {
        self.add(element.name);
        for (key, value) in &element.attributes {
            self.add(key);
            self.add(value);
        }
        element.children.iter().for_each(|child| self.collect(child));
    }

    fn add(&mut self, string: &str) {
        if !self.index.contains_key(string) {
            self.index.insert(string.to_string(), self.list.len() as u64);
            self.list.push(string.to_string());
        }
    }

    fn encode(&self, element: &Element, out: &mut Encoder) {
        let number = |string: &str| self.index.get(string).copied().unwrap_or(0);
        out.varint(number(element.name));
        out.varint(element.attributes.len() as u64);
        for (key, value) in &element.attributes {
            out.varint(number(key));
            out.varint(number(value));
        }
        out.varint(element.children.len() as u64);
        element.children.iter().for_each(|child| self.encode(child, out));
    }
}
