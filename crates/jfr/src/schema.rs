//! The types of a Headway recording: what the metadata event of each chunk
//! declares. The standard types have the fields, in the order, with the
//! annotations that the JDK gives them; what Headway adds comes last.
//!
//! The numbers are private to a file (readers go by names), but a recording
//! that is continued or cut together keeps them, so they do not change.

/// Version of what `headway.*` events mean; in every `headway.Recording` event.
/// It grows when a reader of an older version would misunderstand a recording.
pub const FORMAT_VERSION: u32 = 1;

/// A type's number.
pub(crate) type TypeId = u8;

/// Numbers of all types, those of events below 128 so that they take one byte.
pub(crate) mod id {
    use super::TypeId;
    pub(crate) const METADATA: TypeId = 0;
    pub(crate) const CHECKPOINT: TypeId = 1;
    pub(crate) const BOOLEAN: TypeId = 4;
    pub(crate) const INT: TypeId = 5;
    pub(crate) const LONG: TypeId = 6;
    pub(crate) const FLOAT: TypeId = 7;
    pub(crate) const STRING: TypeId = 8;
    pub(crate) const THREAD: TypeId = 20;
    pub(crate) const THREAD_GROUP: TypeId = 21;
    pub(crate) const CLASS: TypeId = 22;
    pub(crate) const CLASS_LOADER: TypeId = 23;
    pub(crate) const PACKAGE: TypeId = 24;
    pub(crate) const MODULE: TypeId = 25;
    pub(crate) const SYMBOL: TypeId = 26;
    pub(crate) const METHOD: TypeId = 27;
    pub(crate) const STACK_TRACE: TypeId = 28;
    pub(crate) const STACK_FRAME: TypeId = 29;
    pub(crate) const FRAME_TYPE: TypeId = 30;
    pub(crate) const THREAD_STATE: TypeId = 31;
    pub(crate) const LOCK: TypeId = 32;
    pub(crate) const EXIT_CAUSE: TypeId = 33;
    pub(crate) const WAIT_OUTCOME: TypeId = 34;
    pub(crate) const LOSS_CAUSE: TypeId = 35;
    pub(crate) const LABEL: TypeId = 40;
    pub(crate) const DESCRIPTION: TypeId = 41;
    pub(crate) const CATEGORY: TypeId = 42;
    pub(crate) const TIMESTAMP: TypeId = 43;
    pub(crate) const TIMESPAN: TypeId = 44;
    pub(crate) const UNSIGNED: TypeId = 45;
    pub(crate) const MEMORY_ADDRESS: TypeId = 46;
    pub(crate) const MONITOR_ADDRESS: TypeId = 47;
    pub(crate) const PERCENTAGE: TypeId = 48;
    pub(crate) const DATA_AMOUNT: TypeId = 49;
    pub(crate) const CONTENT_TYPE: TypeId = 50;
    pub(crate) const RELATIONAL: TypeId = 51;
    pub(crate) const THREAD_START: TypeId = 60;
    pub(crate) const THREAD_END: TypeId = 61;
    pub(crate) const MONITOR_ENTERED: TypeId = 62;
    pub(crate) const MONITOR_WAITED: TypeId = 63;
    pub(crate) const THREAD_PARK: TypeId = 64;
    pub(crate) const EXECUTION_SAMPLE: TypeId = 65;
    pub(crate) const NATIVE_SAMPLE: TypeId = 66;
    pub(crate) const CPU_LOAD: TypeId = 67;
    pub(crate) const JVM_INFORMATION: TypeId = 68;
    pub(crate) const ACTIVE_SETTING: TypeId = 69;
    pub(crate) const MONITOR_ENTER: TypeId = 80;
    pub(crate) const MONITOR_EXIT: TypeId = 81;
    pub(crate) const MONITOR_WAIT: TypeId = 82;
    pub(crate) const MONITOR_NOTIFY: TypeId = 83;
    pub(crate) const MONITOR_REENTERED: TypeId = 84;
    pub(crate) const WALL_SAMPLE: TypeId = 85;
    pub(crate) const STOP_THE_WORLD: TypeId = 86;
    pub(crate) const LOSS: TypeId = 87;
    pub(crate) const DEGRADED: TypeId = 88;
    pub(crate) const SELF_COST: TypeId = 89;
    pub(crate) const RECORDING: TypeId = 90;
    pub(crate) const FLUSH: TypeId = 91;
    pub(crate) const LOCK_DEFINITION: TypeId = 92;
    pub(crate) const RESERVE: TypeId = 93;
}

/// What a type is, which decides its super type in the metadata.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A number, a string, or a structure.
    Plain,
    /// A constant that stands for its only field.
    Simple,
    /// An annotation.
    Annotation,
    /// An event.
    Event,
}

/// An annotation on a type or a field, by the annotation's type.
#[derive(Clone, Copy)]
pub(crate) enum Note {
    Label(&'static str),
    Description(&'static str),
    Category(&'static [&'static str]),
    /// Bears no value: [`id::UNSIGNED`], [`id::MEMORY_ADDRESS`], ...
    Bare(TypeId),
    /// Bears one value: unit of [`id::TIMESTAMP`], [`id::TIMESPAN`], ...
    Unit(TypeId, &'static str),
}

/// How a field's value lies in an event or constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// The value itself.
    Inline,
    /// A number that refers to a constant.
    Pool,
    /// A count and that many values.
    Array,
}

/// A field of a type.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) ty: TypeId,
    pub(crate) store: Store,
    pub(crate) notes: &'static [Note],
}

/// A type.
pub(crate) struct Type {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) fields: &'static [Field],
    pub(crate) notes: &'static [Note],
}

macro_rules! fields {
    ($($name:literal $store:ident $ty:ident [$($note:expr),*];)*) => {
        &[$(Field { name: $name, ty: id::$ty, store: Store::$store, notes: &[$($note),*] }),*]
    };
}

const fn plain(id: TypeId, name: &'static str) -> Type {
    Type { id, name, role: Role::Plain, fields: &[], notes: &[] }
}

use Note::{Bare, Category, Description, Label, Unit};

const TICKS: Note = Unit(id::TIMESTAMP, "TICKS");
const TICK_SPAN: Note = Unit(id::TIMESPAN, "TICKS");
const NANO_SPAN: Note = Unit(id::TIMESPAN, "NANOSECONDS");
const LOCKS: Note = Category(&["Headway", "Locks"]);
const HEADWAY: Note = Category(&["Headway"]);
const JAVA_APPLICATION: Note = Category(&["Java Application"]);
const PROFILING: Note = Category(&["Java Virtual Machine", "Profiling"]);
const SEQ: Note = Description("Place in the lock's own order of events: 1, 2, 3, ... without a gap; 0 if not numbered");
const STACK: Note = Description("Stack Trace starting from the method the event was committed in");
const COMMITTER: Note = Description("Thread in which event was committed in");

/// Types that stand for numbers, strings, constants and annotations.
pub(crate) static VALUES: &[Type] = &[
    plain(id::BOOLEAN, "boolean"),
    plain(id::INT, "int"),
    plain(id::LONG, "long"),
    plain(id::FLOAT, "float"),
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
            "service" Inline BOOLEAN [Label("Service Thread"), Description("Thread of the JVM, the JDK or the profiler, not of the application")];
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
            "sourceFile" Pool SYMBOL [Label("Source File")];
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
            "approximate" Inline BOOLEAN [Label("Approximate"), Description("Debug information could not prove which inlined callee this was; the physical method is named")];
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

const fn simple(id: TypeId, name: &'static str, fields: &'static [Field], notes: &'static [Note]) -> Type {
    Type { id, name, role: Role::Simple, fields, notes }
}

const fn annotation(id: TypeId, name: &'static str, fields: &'static [Field], notes: &'static [Note]) -> Type {
    Type { id, name, role: Role::Annotation, fields, notes }
}

const fn event(id: TypeId, name: &'static str, fields: &'static [Field], notes: &'static [Note]) -> Type {
    Type { id, name, role: Role::Event, fields, notes }
}

/// The JDK's event types that Headway writes.
pub(crate) static JDK_EVENTS: &[Type] = &[
    event(
        id::THREAD_START,
        "jdk.ThreadStart",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "thread" Pool THREAD [Label("New Java Thread")];
            "parentThread" Pool THREAD [Label("Parent Java Thread")];
        },
        &[JAVA_APPLICATION, Label("Java Thread Start")],
    ),
    event(
        id::THREAD_END,
        "jdk.ThreadEnd",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "thread" Pool THREAD [Label("Java Thread")];
        },
        &[JAVA_APPLICATION, Label("Java Thread End")],
    ),
    event(
        id::MONITOR_ENTERED,
        "jdk.JavaMonitorEnter",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "monitorClass" Pool CLASS [Label("Monitor Class")];
            "previousOwner" Pool THREAD [Label("Previous Monitor Owner")];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Monitor Address"), Description("The lock's id, which unlike an address stays the same while the lock lives")];
            "lock" Pool LOCK [Label("Lock")];
            "seq" Inline LONG [Label("Sequence Number"), SEQ];
        },
        &[JAVA_APPLICATION, Label("Java Monitor Blocked")],
    ),
    event(
        id::MONITOR_WAITED,
        "jdk.JavaMonitorWait",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "monitorClass" Pool CLASS [Label("Monitor Class"), Description("Class of object waited on")];
            "notifier" Pool THREAD [Label("Notifier Thread"), Description("Notifying Thread")];
            "timeout" Inline LONG [Unit(id::TIMESPAN, "MILLISECONDS"), Label("Timeout"), Description("Maximum wait time")];
            "timedOut" Inline BOOLEAN [Label("Timed Out"), Description("Wait has been timed out")];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Monitor Address"), Description("The lock's id, which unlike an address stays the same while the lock lives")];
            "lock" Pool LOCK [Label("Lock")];
            "seq" Inline LONG [Label("Sequence Number"), SEQ];
            "outcome" Pool WAIT_OUTCOME [Label("Outcome")];
        },
        &[JAVA_APPLICATION, Label("Java Monitor Wait"), Description("Waiting on a Java monitor")],
    ),
    event(
        id::THREAD_PARK,
        "jdk.ThreadPark",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), COMMITTER];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), STACK];
            "parkedClass" Pool CLASS [Label("Class Parked On")];
            "timeout" Inline LONG [NANO_SPAN, Label("Park Timeout")];
            "until" Inline LONG [Unit(id::TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"), Label("Park Until")];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Address of Object Parked"), Description("The blocker's id, which unlike an address stays the same while the blocker lives")];
        },
        &[JAVA_APPLICATION, Label("Java Thread Park")],
    ),
    event(
        id::EXECUTION_SAMPLE,
        "jdk.ExecutionSample",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "state" Pool THREAD_STATE [Label("Thread State")];
            "weight" Inline LONG [NANO_SPAN, Label("Weight"), Description("Time that the sample stands for")];
        },
        &[PROFILING, Label("Java Execution Sample"), Description("Snapshot of a thread executing Java code")],
    ),
    event(
        id::NATIVE_SAMPLE,
        "jdk.NativeMethodSample",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "state" Pool THREAD_STATE [Label("Thread State")];
            "weight" Inline LONG [NANO_SPAN, Label("Weight"), Description("Time that the sample stands for")];
        },
        &[PROFILING, Label("Native Sample"), Description("Snapshot of a thread executing native code")],
    ),
    event(
        id::CPU_LOAD,
        "jdk.CPULoad",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "jvmUser" Inline FLOAT [Bare(id::PERCENTAGE), Label("JVM User")];
            "jvmSystem" Inline FLOAT [Bare(id::PERCENTAGE), Label("JVM System")];
            "machineTotal" Inline FLOAT [Bare(id::PERCENTAGE), Label("Machine Total")];
        },
        &[
            Category(&["Operating System", "Processor"]),
            Label("CPU Load"),
            Description("Information about the recent CPU usage of the JVM process"),
        ],
    ),
    event(
        id::JVM_INFORMATION,
        "jdk.JVMInformation",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "jvmName" Inline STRING [Label("JVM Name")];
            "jvmVersion" Inline STRING [Label("JVM Version")];
            "jvmArguments" Inline STRING [Label("JVM Command Line Arguments")];
            "jvmFlags" Inline STRING [Label("JVM Settings File Arguments")];
            "javaArguments" Inline STRING [Label("Java Application Arguments")];
            "jvmStartTime" Inline LONG [Unit(id::TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"), Label("JVM Start Time")];
            "pid" Inline LONG [Label("Process Identifier")];
        },
        &[
            Category(&["Java Virtual Machine"]),
            Label("JVM Information"),
            Description("Description of JVM and the Java application"),
        ],
    ),
    event(
        id::ACTIVE_SETTING,
        "jdk.ActiveSetting",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "id" Inline LONG [Label("Event Id")];
            "name" Inline STRING [Label("Setting Name")];
            "value" Inline STRING [Label("Setting Value")];
        },
        &[Category(&["Flight Recorder"]), Label("Recording Setting")],
    ),
];

/// Headway's own event types.
pub(crate) static HEADWAY_EVENTS: &[Type] = &[
    event(
        id::MONITOR_ENTER,
        "headway.MonitorContendedEnter",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The contender")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The contender's call chain")];
            "lock" Pool LOCK [Label("Lock")];
            "seq" Inline LONG [Label("Sequence Number"), SEQ];
            "owner" Pool THREAD [Label("Owner"), Description("Owner of the monitor at that moment")];
        },
        &[LOCKS, Label("Monitor Contended Enter"), Description("A thread found a monitor owned and is about to block")],
    ),
    event(
        id::MONITOR_EXIT,
        "headway.MonitorContendedExit",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The owner")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The owner's call chain")];
            "lock" Pool LOCK [Label("Lock")];
            "seq" Inline LONG [Label("Sequence Number"), SEQ];
            "holderFrame" Inline INT [Label("Holder Frame"), Description("Index into the stack trace of the frame that held the lock, 0 being the top")];
            "holderApproximate" Inline BOOLEAN [Label("Holder Approximate"), Description("More than one frame could be the holder")];
            "cause" Pool EXIT_CAUSE [Label("Cause")];
        },
        &[
            LOCKS,
            Label("Monitor Contended Exit"),
            Description("An owner released a monitor for which other threads queue"),
        ],
    ),
    event(
        id::MONITOR_WAIT,
        "headway.MonitorWaitBegin",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The waiter")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The waiter's call chain")];
            "lock" Pool LOCK [Label("Lock")];
            "seq" Inline LONG [Label("Sequence Number"), SEQ];
            "timeout" Inline LONG [NANO_SPAN, Label("Timeout"), Description("Maximum wait time, 0 if none")];
        },
        &[LOCKS, Label("Monitor Wait Begin"), Description("A thread begins Object.wait, still owning the monitor")],
    ),
    event(
        id::MONITOR_NOTIFY,
        "headway.MonitorNotify",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The notifier")];
            "waiter" Pool THREAD [Label("Waiter"), Description("The thread that was chosen")];
            "lock" Pool LOCK [Label("Lock")];
            "seq" Inline LONG [Label("Sequence Number"), SEQ];
        },
        &[
            LOCKS,
            Label("Monitor Notify"),
            Description("A waiter was chosen by notify; its contended re-acquisition begins"),
        ],
    ),
    event(
        id::MONITOR_REENTERED,
        "headway.MonitorReenter",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
            "eventThread" Pool THREAD [Label("Event Thread"), Description("The waiter, owner again")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace"), Description("The call chain of its wait")];
            "lock" Pool LOCK [Label("Lock")];
            "startSeq" Inline LONG [Label("Start Sequence Number"), Description("Place of the begin in the lock's own order, 0 if not numbered")];
            "seq" Inline LONG [Label("Sequence Number"), SEQ];
            "bound" Inline BOOLEAN [Label("Bound"), Description("The end was not observed; the duration is an upper bound")];
        },
        &[LOCKS, Label("Monitor Re-enter"), Description("A contended re-acquisition of a monitor after Object.wait")],
    ),
    event(
        id::WALL_SAMPLE,
        "headway.WallSample",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "sampledThread" Pool THREAD [Label("Thread")];
            "stackTrace" Pool STACK_TRACE [Label("Stack Trace")];
            "weight" Inline LONG [NANO_SPAN, Label("Weight"), Description("Time that the sample stands for")];
        },
        &[
            Category(&["Headway", "Profiling"]),
            Label("Waiting Sample"),
            Description("Snapshot of a thread that waits, sleeps or is blocked"),
        ],
    ),
    event(
        id::STOP_THE_WORLD,
        "headway.StopTheWorld",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "duration" Inline LONG [Label("Duration"), TICK_SPAN];
        },
        &[HEADWAY, Label("Stop The World"), Description("All application threads stood still")],
    ),
    event(
        id::LOSS,
        "headway.Loss",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "cause" Pool LOSS_CAUSE [Label("Cause")];
            "count" Inline LONG [Label("Count"), Description("How many are missing since the previous event of this cause")];
        },
        &[HEADWAY, Label("Loss"), Description("Something is missing from the recording")],
    ),
    event(
        id::DEGRADED,
        "headway.Degraded",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "mechanism" Inline STRING [Label("Mechanism")];
            "reason" Inline STRING [Label("Reason"), Description("What is lost, why, and what is used instead")];
        },
        &[HEADWAY, Label("Degraded"), Description("A mechanism that is not in force")],
    ),
    event(
        id::SELF_COST,
        "headway.SelfCost",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "ownCpu" Inline LONG [NANO_SPAN, Label("Own CPU Time"), Description("CPU time of the profiler's own threads since the recording's start")];
            "attachPause" Inline LONG [NANO_SPAN, Label("Attach Pause"), Description("How long attaching held up the application")];
            "memory" Inline LONG [Unit(id::DATA_AMOUNT, "BYTES"), Label("Memory"), Description("Memory in use for buffers and tables")];
        },
        &[HEADWAY, Label("Self Cost"), Description("What the profiler itself has cost so far")],
    ),
    event(
        id::RECORDING,
        "headway.Recording",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "formatVersion" Inline INT [Label("Format Version")];
            "producer" Inline STRING [Label("Producer")];
        },
        &[HEADWAY, Label("Recording"), Description("Who made this recording, and in which version of the format")],
    ),
    event(
        id::LOCK_DEFINITION,
        "headway.Lock",
        fields! {
            "startTime" Inline LONG [Label("Start Time"), TICKS];
            "address" Inline LONG [Bare(id::UNSIGNED), Bare(id::MEMORY_ADDRESS), Bare(id::MONITOR_ADDRESS), Label("Lock Id"), Description("Bound to the lock object while it lives; never a real address, never used again")];
            "monitorClass" Pool CLASS [Label("Lock Class")];
            "identityHash" Inline INT [Label("Identity Hash Code"), Description("0 if unknown")];
            "name" Inline STRING [Label("Name"), Description("Field or class from which the lock was loaded where it was acquired")];
        },
        &[LOCKS, Label("Lock"), Description("Identity of a lock that events of this chunk refer to")],
    ),
    event(
        id::RESERVE,
        "headway.Reserve",
        fields! { "startTime" Inline LONG [Label("Start Time"), TICKS]; },
        &[
            HEADWAY,
            Label("Reserve"),
            Description("Room for what would have been written next; only in recordings of processes that were killed"),
        ],
    ),
    event(
        id::FLUSH,
        "headway.Flush",
        fields! { "startTime" Inline LONG [Label("Start Time"), TICKS, Description("No event that happened before this time follows")]; },
        &[HEADWAY, Label("Flush"), Description("End of what was written at once")],
    ),
];

/// All types, in the order in which the metadata declares them.
pub(crate) fn types() -> impl Iterator<Item = &'static Type> {
    JDK_EVENTS.iter().chain(HEADWAY_EVENTS).chain(VALUES)
}

/// Frame types, by number.
pub(crate) const FRAME_TYPES: [&str; 4] = ["Interpreted", "JIT compiled", "Inlined", "Native"];
/// The thread state of samples on the CPU, with the JDK's number for it.
pub(crate) const RUNNABLE: (u64, &str) = (5, "STATE_RUNNABLE");
/// Exit causes, by number.
pub(crate) const EXIT_CAUSES: [&str; 2] = ["exit", "wait"];
/// Wait outcomes, by number.
pub(crate) const WAIT_OUTCOMES: [&str; 3] = ["notified", "timed out", "interrupted"];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_and_names_are_unique_and_every_field_has_a_declared_type() {
        let ids: HashSet<u8> = types().map(|t| t.id).collect();
        let names: HashSet<&str> = types().map(|t| t.name).collect();
        assert_eq!(ids.len(), types().count());
        assert_eq!(names.len(), types().count());
        for ty in types() {
            assert!(ty.id < 128, "{} must take one byte", ty.name);
            for field in ty.fields {
                assert!(ids.contains(&field.ty), "{}.{}", ty.name, field.name);
            }
        }
    }
}
