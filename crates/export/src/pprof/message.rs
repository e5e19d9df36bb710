//! The messages of a pprof file. Field numbers and types are those of
//! `perftools.profiles.Profile`; strings are indexes into `string_table`, whose
//! first one is empty.

/// A profile.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    /// What the values of a sample are.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// Stacks with values.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Programs and libraries.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Places in code.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Functions.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All strings.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// Frames to leave out, as a regular expression.
    #[prost(int64, tag = "7")]
    pub drop_frames: i64,
    /// Frames to keep, as a regular expression.
    #[prost(int64, tag = "8")]
    pub keep_frames: i64,
    /// First moment, nanoseconds since the Unix epoch.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Length in nanoseconds.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What happens between two samples.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// How often it happens between two samples.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Free text.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// Name of the sample type to show first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// What a value is, and in which unit.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ValueType {
    /// `cpu`.
    #[prost(int64, tag = "1")]
    pub ty: i64,
    /// `nanoseconds`.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A stack with its values.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// Locations, leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One value per sample type.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What else is known.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// Something else that is known of a sample.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Label {
    /// Its name.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Its value, if that is a string.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// Its value, if that is a number.
    #[prost(int64, tag = "3")]
    pub num: i64,
    /// The number's unit.
    #[prost(int64, tag = "4")]
    pub num_unit: i64,
}

/// A program or library.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Mapping {
    /// Its id, not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// First address.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// First address behind it.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Offset in the file.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// Its name.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// What distinguishes its versions.
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    /// True if functions are resolved.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// True if source files are.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// True if lines are.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// True if inlined functions are.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// A place in code.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    /// Its id, not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The program or library.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Its address; 0 if there is none.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// The function, and those that it is inlined into.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
    /// True if several places were put together.
    #[prost(bool, tag = "5")]
    pub is_folded: bool,
}

/// A line of a function.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Line {
    /// The function.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// The line; 0 if unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Function {
    /// Its id, not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name for people.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Its name for the system.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Its source file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// Its first line; 0 if unknown.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
