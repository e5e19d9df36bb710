//! Types of values: numbers, strings, constants and annotations.

use super::Note::{Bare, Description, Label};
use super::{annotation, fields, id, plain, simple, Field, Role, Store, Type};

/// Types that stand for numbers, strings, constants and annotations.
pub(crate) static VALUES: &[Type] = &[
    plain(id::BOOLEAN, "boolean"),
    plain(id::INT, "int"),
    plain(id::LONG, "long"),
    plain(id::FLOAT, "float"),
    plain(id::DOUBLE, "double"),
    plain(id::BYTE, "byte"),
    plain(id::CHAR, "char"),
    plain(id::SHORT, "short"),
    plain(id::STRING, "java.lang.String"),
    Type {
        id: id::THREAD,
        name: "java.lang.Thread",
        role: Role::Plain,
        fields: fields! {
            "osName" Inline STRING [Label("OS Thread Name")];
            "osThreadId" Inline LONG [Label("OS Thread Id")];
            "javaName" Inline STRING [Label("Java Thread Name")];
            "javaThreadId" Inline LONG [Label("Java Thread Id")];
            "group" Pool THREAD_GROUP [Label("Java Thread Group")];
            "virtual" Inline BOOLEAN [Label("Virtual Thread")];
        },
        notes: &[Label("Thread")],
    },
    Type {
        id: id::THREAD_GROUP,
        name: "jdk.types.ThreadGroup",
        role: Role::Plain,
        fields: fields! {
            "parent" Pool THREAD_GROUP [Label("Parent")];
            "name" Inline STRING [Label("Name")];
        },
        notes: &[Label("Thread Group")],
    },
    Type {
        id: id::CLASS,
        name: "java.lang.Class",
        role: Role::Plain,
        fields: fields! {
            "classLoader" Pool CLASS_LOADER [Label("Class Loader")];
            "name" Pool SYMBOL [Label("Name")];
            "package" Pool PACKAGE [Label("Package")];
            "modifiers" Inline INT [Label("Access Modifiers")];
            "hidden" Inline BOOLEAN [Label("Hidden")];
        },
        notes: &[Label("Java Class")],
    },
    Type {
        id: id::CLASS_LOADER,
        name: "jdk.types.ClassLoader",
        role: Role::Plain,
        fields: fields! {
            "type" Pool CLASS [Label("Type")];
            "name" Pool SYMBOL [Label("Name")];
        },
        notes: &[Label("Java Class Loader")],
    },
    Type {
        id: id::PACKAGE,
        name: "jdk.types.Package",
        role: Role::Plain,
        fields: fields! {
            "name" Pool SYMBOL [Label("Name")];
            "module" Pool MODULE [Label("Module")];
            "exported" Inline BOOLEAN [Label("Exported")];
        },
        notes: &[Label("Package")],
    },
    Type {
        id: id::MODULE,
        name: "jdk.types.Module",
        role: Role::Plain,
        fields: fields! {
            "name" Pool SYMBOL [Label("Name")];
            "version" Pool SYMBOL [Label("Version")];
            "location" Pool SYMBOL [Label("Location")];
            "classLoader" Pool CLASS_LOADER [Label("Class Loader")];
        },
        notes: &[Label("Module")],
    },
    Type {
        id: id::SYMBOL,
        name: "jdk.types.Symbol",
        role: Role::Simple,
        fields: fields! { "string" Inline STRING [Label("String")]; },
        notes: &[Label("Symbol")],
    },
    Type {
        id: id::METHOD,
        name: "jdk.types.Method",
        role: Role::Plain,
        fields: fields! {
            "type" Pool CLASS [Label("Type")];
            "name" Pool SYMBOL [Label("Name")];
            "descriptor" Pool SYMBOL [Label("Descriptor")];
            "modifiers" Inline INT [Label("Access Modifiers")];
            "hidden" Inline BOOLEAN [Label("Hidden")];
        },
        notes: &[Label("Java Method")],
    },
    Type {
        id: id::STACK_TRACE,
        name: "jdk.types.StackTrace",
        role: Role::Plain,
        fields: fields! {
            "truncated" Inline BOOLEAN [Label("Truncated")];
            "frames" Array STACK_FRAME [Label("Stack Frames")];
        },
        notes: &[Label("Stacktrace")],
    },
    Type {
        id: id::STACK_FRAME,
        name: "jdk.types.StackFrame",
        role: Role::Plain,
        fields: fields! {
            "method" Pool METHOD [Label("Java Method")];
            "lineNumber" Inline INT [Label("Line Number")];
            "bytecodeIndex" Inline INT [Label("Bytecode Index")];
            "type" Pool FRAME_TYPE [Label("Frame Type")];
        },
        notes: &[],
    },
    simple(
        id::FRAME_TYPE,
        "jdk.types.FrameType",
        fields! { "description" Inline STRING [Label("Description")]; },
        &[Label("Frame type")],
    ),
    simple(
        id::THREAD_STATE,
        "jdk.types.ThreadState",
        fields! { "name" Inline STRING [Label("Name")]; },
        &[Label("Java Thread State")],
    ),
    // One string and no more: JDK Mission Control takes event types with
    // structures that it does not know for different types in each chunk.
    simple(id::LOCK, "headway.types.Lock", fields! { "name" Inline STRING [Label("Name")]; }, &[Label("Lock")]),
    // Constants that no event refers to: each has the number of what it completes.
    Type {
        id: id::SOURCE_FILE,
        name: "headway.types.SourceFile",
        role: Role::Plain,
        fields: fields! { "name" Pool SYMBOL [Label("Name")]; },
        notes: &[Label("Source File"), Description("Of the method with the same number")],
    },
    simple(
        id::APPROXIMATE_FRAMES,
        "headway.types.ApproximateFrames",
        fields! { "frames" Inline STRING [Label("Frames"), Description("Indices, separated by commas, 0 being the top")]; },
        &[
            Label("Approximate Frames"),
            Description("Of the stack trace with the same number: debug information could not prove which inlined callee these were; the physical method is named"),
        ],
    ),
    simple(
        id::EXIT_CAUSE,
        "headway.types.ExitCause",
        fields! { "name" Inline STRING [Label("Name")]; },
        &[Label("How a monitor was released")],
    ),
    simple(
        id::WAIT_OUTCOME,
        "headway.types.WaitOutcome",
        fields! { "name" Inline STRING [Label("Name")]; },
        &[Label("How a wait ended")],
    ),
    simple(
        id::PARK_OUTCOME,
        "headway.types.ParkOutcome",
        fields! { "name" Inline STRING [Label("Name")]; },
        &[Label("How a park ended")],
    ),
    simple(
        id::LOSS_CAUSE,
        "headway.types.LossCause",
        fields! { "name" Inline STRING [Label("Name")]; },
        &[Label("Why something is missing")],
    ),
    annotation(id::LABEL, "jdk.jfr.Label", fields! { "value" Inline STRING []; }, &[]),
    annotation(id::DESCRIPTION, "jdk.jfr.Description", fields! { "value" Inline STRING []; }, &[]),
    annotation(id::CATEGORY, "jdk.jfr.Category", fields! { "value" Array STRING []; }, &[]),
    annotation(
        id::TIMESTAMP,
        "jdk.jfr.Timestamp",
        fields! { "value" Inline STRING []; },
        &[Bare(id::CONTENT_TYPE), Label("Timestamp"), Description("A point in time")],
    ),
    annotation(
        id::TIMESPAN,
        "jdk.jfr.Timespan",
        fields! { "value" Inline STRING []; },
        &[Bare(id::CONTENT_TYPE), Label("Timespan"), Description("A duration, measured in nanoseconds by default")],
    ),
    annotation(
        id::UNSIGNED,
        "jdk.jfr.Unsigned",
        &[],
        &[
            Bare(id::CONTENT_TYPE),
            Label("Unsigned Value"),
            Description("Value should be interpreted as unsigned data type"),
        ],
    ),
    annotation(
        id::MEMORY_ADDRESS,
        "jdk.jfr.MemoryAddress",
        &[],
        &[Bare(id::CONTENT_TYPE), Label("Memory Address"), Description("Represents a physical memory address")],
    ),
    annotation(id::MONITOR_ADDRESS, "jdk.types.JavaMonitorAddress", &[], &[Bare(id::RELATIONAL)]),
    annotation(
        id::PERCENTAGE,
        "jdk.jfr.Percentage",
        &[],
        &[
            Bare(id::CONTENT_TYPE),
            Label("Percentage"),
            Description("Percentage, represented as a number between 0 and 1"),
        ],
    ),
    annotation(
        id::DATA_AMOUNT,
        "jdk.jfr.DataAmount",
        fields! { "value" Inline STRING []; },
        &[Bare(id::CONTENT_TYPE), Label("Data Amount"), Description("Amount of data")],
    ),
    annotation(
        id::CONTENT_TYPE,
        "jdk.jfr.ContentType",
        &[],
        &[Label("Content Type"), Description("Semantic meaning of a value")],
    ),
    annotation(id::RELATIONAL, "jdk.jfr.Relational", &[], &[]),
];

const FRAME: &str = "frame ";
const HAS_A_MONITOR: &str = " of the stack (0 is the leaf) has a monitor";

/// Why a virtual thread is pinned, as the field `pinnedReason` has it, if this frame's monitor pins it.
pub(crate) fn pinned_by_monitor(frame: u16) -> String {
    format!("{FRAME}{frame}{HAS_A_MONITOR}")
}

/// The frame in such a text; `None` of any other, as other writers have them.
pub(crate) fn monitor_frame(reason: &str) -> Option<u16> {
    reason.strip_prefix(FRAME)?.strip_suffix(HAS_A_MONITOR)?.parse().ok()
}
