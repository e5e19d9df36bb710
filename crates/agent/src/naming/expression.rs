//! What was locked: the expression in front of a `monitorenter`, or of a call
//! such as `lock()`.

use super::without_run;
use headway_class_file::instruction::{self as b, Instruction};
use headway_class_file::ConstantPool;

/// An acquisition site: a method and a place in it.
pub struct Site<'a> {
    /// Class of the method, dotted.
    pub class: &'a str,
    /// True if the method is static.
    pub is_static: bool,
    /// True if the method is synchronized.
    pub is_synchronized: bool,
    /// The method's bytecodes, as in the class file.
    pub code: &'a [u8],
    /// Where in them the thread stands.
    pub bci: usize,
}

/// The name of the lock acquired at `site`, `None` where the bytecode does not
/// say: `Inventory.lock` for a field, `Foo.class` for a class object,
/// `Inventory (this)` for the receiver, `Inventory.lockFor()` for a call's
/// result, `Inventory.locks[]` for an array's element, `Inventory (initialization)` for
/// the VM's array behind the initialization of a class.
pub fn lock_name(site: &Site<'_>, pool: &ConstantPool) -> Option<String> {
    let before = b::instructions(site.code, site.bci + 1);
    match before.split_last() {
        Some((here, before)) if here.opcode == b::MONITORENTER => {
            name_of_stack_top(site, pool, before, LOCALS_FOLLOWED)
        }
        // The interpreter steps on before it acquires.
        Some((here, [before @ .., last])) if here.at == site.bci && last.opcode == b::MONITORENTER => {
            name_of_stack_top(site, pool, before, LOCALS_FOLLOWED)
        }
        Some((here, _)) if here.at == site.bci => {
            initialized(site, pool, *here).or_else(|| site.is_synchronized.then(|| synchronized_method(site)))
        }
        _ => site.is_synchronized.then(|| synchronized_method(site)),
    }
}

const INITIALIZATION: &str = " (initialization)";

/// The class that an instruction has the VM initialize, for which it locks an `int[]`. A
/// synchronized method is entered before its first instruction.
fn initialized(site: &Site<'_>, pool: &ConstantPool, here: Instruction) -> Option<String> {
    let operand = here.operand_u16(site.code).filter(|_| here.at > 0 || !site.is_synchronized)?;
    let class = match here.opcode {
        b::GETSTATIC | b::PUTSTATIC | b::INVOKESTATIC => pool.member(operand)?.0,
        b::NEW => pool.class(operand)?,
        _ => return None,
    };
    Some(format!("{}{INITIALIZATION}", simple(&class.replace('/', "."))))
}

/// True if a lock of this class may have this name: only the VM's arrays are behind the
/// initialization of classes, and what else it locks there, such as a class loader, is not.
pub fn suits_class(name: &str, class: &str) -> bool {
    !name.ends_with(INITIALIZATION) || class == "int[]"
}

/// Methods by which a synchronizer is acquired for its caller alone. A condition's
/// `await` acquires its lock, too, but is called on the condition.
const ACQUIRING: [&str; 3] = ["lock", "lockInterruptibly", "tryLock"];
/// Methods that lead from a lock to one of its two views.
const VIEWS: [&str; 2] = ["readLock", "writeLock"];

/// The name of the synchronizer on which the method called at `site` is, as
/// [`lock_name`]: `Inventory.lock` for `lock.lock()` and `lock.readLock().lock()`.
pub fn synchronizer_name(site: &Site<'_>, pool: &ConstantPool) -> Option<String> {
    let instructions = b::instructions(site.code, site.bci + 1);
    let (call, before) = instructions.split_last()?;
    let (_, name) = called(site, pool, *call).filter(|_| call.at == site.bci)?;
    if !ACQUIRING.contains(&name.as_str()) {
        return None;
    }
    let before = before_arguments(site, pool, *call, before)?;
    let (view, before_view) = before.split_last()?;
    match called(site, pool, *view) {
        Some((_, name)) if VIEWS.contains(&name.as_str()) => {
            name_of_stack_top(site, pool, before_view, LOCALS_FOLLOWED)
        }
        _ => name_of_stack_top(site, pool, before, LOCALS_FOLLOWED),
    }
}

/// Class and name of the method of an object that an instruction calls.
fn called(site: &Site<'_>, pool: &ConstantPool, call: Instruction) -> Option<(String, String)> {
    let is_call = matches!(call.opcode, b::INVOKEVIRTUAL | b::INVOKEINTERFACE);
    is_call.then(|| pool.member(call.operand_u16(site.code)?)).flatten()
}

/// What is left of `before` a call without what pushes its arguments, as long as
/// that takes one instruction each.
fn before_arguments<'b>(
    site: &Site<'_>,
    pool: &ConstantPool,
    call: Instruction,
    before: &'b [Instruction],
) -> Option<&'b [Instruction]> {
    let descriptor = pool.descriptor(call.operand_u16(site.code)?)?;
    let count = arguments(&descriptor)?;
    let (rest, pushes) = before.split_at_checked(before.len().checked_sub(count)?)?;
    pushes.iter().all(is_push).then_some(rest)
}

/// True for what leaves one value on the stack and takes none.
fn is_push(i: &Instruction) -> bool {
    matches!(i.opcode, 0x01..=b::ALOAD_3 | b::GETSTATIC)
}

/// How many arguments a method takes: 2 for `(JLjava/util/concurrent/TimeUnit;)Z`.
fn arguments(descriptor: &str) -> Option<usize> {
    let list = descriptor.strip_prefix('(')?.split(')').next()?;
    let mut count = 0;
    let mut rest = list;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            'L' => rest.find(';')? + 1,
            '[' => return None,
            _ => 1,
        };
        rest = rest.get(length..)?;
        count += 1;
    }
    Some(count)
}

/// How many local variables are followed back to where they were stored.
const LOCALS_FOLLOWED: usize = 4;

fn synchronized_method(site: &Site<'_>) -> String {
    match site.is_static {
        true => format!("{}.class", simple(site.class)),
        false => format!("{} (this)", simple(site.class)),
    }
}

/// Names the value that the last of `before` left on the stack. `depth`
/// bounds how many local variables are followed.
fn name_of_stack_top(site: &Site<'_>, pool: &ConstantPool, before: &[Instruction], depth: usize) -> Option<String> {
    let (&last, rest) = before.split_last()?;
    match last.opcode {
        // `synchronized (e)` compiles to: e; dup; astore n; monitorenter.
        b::ASTORE | b::ASTORE_0..=b::ASTORE_3 => {
            let dup = rest.last().filter(|i| i.opcode == b::DUP)?;
            let rest = before.get(..before.iter().position(|i| i.at == dup.at)?)?;
            name_of_stack_top(site, pool, rest, depth)
        }
        b::DUP | b::CHECKCAST => name_of_stack_top(site, pool, rest, depth),
        b::GETFIELD | b::GETSTATIC => {
            let (class, name) = pool.member(last.operand_u16(site.code)?)?;
            Some(format!("{}.{name}", simple(&class)))
        }
        b::INVOKEVIRTUAL..=b::INVOKEINTERFACE => {
            let (class, name) = pool.member(last.operand_u16(site.code)?)?;
            Some(format!("{}.{name}()", simple(&class)))
        }
        b::LDC => class_constant(pool, u16::from(last.operand_u8(site.code)?)),
        b::LDC_W => class_constant(pool, last.operand_u16(site.code)?),
        b::AALOAD => Some(format!("{}[]", name_of_array(site, pool, rest, depth)?)),
        b::ALOAD | b::ALOAD_0..=b::ALOAD_3 => name_of_local(site, pool, rest, last, depth),
        _ => None,
    }
}

/// Names the array of which an element is taken: the last of `before` left its place on the stack, below it is the array.
fn name_of_array(site: &Site<'_>, pool: &ConstantPool, before: &[Instruction], depth: usize) -> Option<String> {
    let (place, array) = before.split_last()?;
    if is_push(place) {
        return name_of_stack_top(site, pool, array, depth);
    }
    // Of what is on the stack for a computed place, only the array is one. What is stored before (into locals, arrays
    // and fields) or popped is of another statement.
    let is_store = |i: &Instruction| matches!(i.opcode, 0x36..=0x58 | b::PUTSTATIC | 0xb5);
    let is_array = |i: &Instruction| {
        let has_type = matches!(i.opcode, b::GETFIELD | b::GETSTATIC | b::INVOKEVIRTUAL..=b::INVOKEINTERFACE);
        let descriptor = i.operand_u16(site.code).filter(|_| has_type).and_then(|index| pool.descriptor(index));
        descriptor.is_some_and(|text| text.rsplit(')').next().is_some_and(|result| result.starts_with('[')))
    };
    let begin = before.iter().rposition(is_store).map_or(0, |store| store + 1);
    let array = before.iter().rposition(is_array).filter(|at| *at >= begin)?;
    name_of_stack_top(site, pool, before.get(..=array)?, depth)
}

fn name_of_local(
    site: &Site<'_>,
    pool: &ConstantPool,
    before: &[Instruction],
    load: Instruction,
    depth: usize,
) -> Option<String> {
    let local = local_of(site.code, load, b::ALOAD, b::ALOAD_0)?;
    let store = before.iter().rposition(|i| local_of(site.code, *i, b::ASTORE, b::ASTORE_0) == Some(local));
    match store {
        Some(store) if depth > 0 => name_of_stack_top(site, pool, before.get(..store)?, depth - 1),
        None if local == 0 && !site.is_static => Some(format!("{} (this)", simple(site.class))),
        _ => None,
    }
}

fn local_of(code: &[u8], i: Instruction, general: u8, first: u8) -> Option<u8> {
    match i.opcode {
        opcode if opcode == general => i.operand_u8(code),
        opcode if (first..=first + 3).contains(&opcode) => Some(opcode - first),
        _ => None,
    }
}

fn class_constant(pool: &ConstantPool, index: u16) -> Option<String> {
    pool.class(index).map(|class| format!("{}.class", simple(&class)))
}

/// `com.acme.Inventory$Row` or `com/acme/Inventory$Row` -> `Inventory$Row`, as in call stacks. A lock of a lambda has
/// the same name in each run.
fn simple(class: &str) -> &str {
    without_run(class).rsplit(['.', '/']).next().unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf8(text: &str) -> Vec<u8> {
        [&[1, 0, text.len() as u8], text.as_bytes()].concat()
    }

    /// 1: utf8 com/acme/Inventory, 2: class 1, 3: utf8 lock, 4: utf8 LX;,
    /// 5: name-and-type 3:4, 6: field 2.5, 7: method 2.5
    fn pool() -> ConstantPool {
        let mut bytes = Vec::new();
        bytes.extend(utf8("com/acme/Inventory"));
        bytes.extend([7, 0, 1]);
        bytes.extend(utf8("lock"));
        bytes.extend(utf8("LX;"));
        bytes.extend([12, 0, 3, 0, 4]);
        bytes.extend([9, 0, 2, 0, 5]);
        bytes.extend([10, 0, 2, 0, 5]);
        ConstantPool::parse(8, bytes)
    }

    fn check(code: &[u8], expected: Option<&str>) {
        let site =
            Site { class: "com.acme.Inventory", is_static: false, is_synchronized: false, code, bci: code.len() - 1 };
        assert_eq!(lock_name(&site, &pool()).as_deref(), expected);
    }

    #[test]
    fn the_interpreter_stands_behind_the_acquisition() {
        let code = [with_tail(&[b::ALOAD_0, b::GETFIELD, 0, 6]), vec![0x03]].concat();
        check(&code, Some("Inventory.lock"));
    }

    const TAIL: [u8; 3] = [b::DUP, b::ASTORE_0 + 1, b::MONITORENTER];

    fn with_tail(head: &[u8]) -> Vec<u8> {
        [head, &TAIL].concat()
    }

    #[test]
    fn the_expression_of_a_synchronized_block_is_named() {
        check(&with_tail(&[b::ALOAD_0, b::GETFIELD, 0, 6]), Some("Inventory.lock"));
        check(&with_tail(&[b::GETSTATIC, 0, 6]), Some("Inventory.lock"));
        check(&with_tail(&[b::ALOAD_0]), Some("Inventory (this)"));
        check(&with_tail(&[b::LDC, 2]), Some("Inventory.class"));
        check(&with_tail(&[b::ALOAD_0, b::INVOKEVIRTUAL, 0, 7]), Some("Inventory.lock()"));
        check(&with_tail(&[b::ALOAD_0, b::GETFIELD, 0, 6, 0x03, b::AALOAD]), Some("Inventory.lock[]"));
    }

    #[test]
    fn the_array_of_a_computed_element_is_told_from_what_else_is_on_the_stack() {
        // INSTANCE is put aside first: Kotlin compiles calls of an object's inline function so.
        let aside = [b::GETSTATIC, 0, 6, b::ASTORE, 5];
        let element = [b::ALOAD_0, b::INVOKEVIRTUAL, 0, 7, 0x15, 4, b::AALOAD];
        check(&with_tail(&[&aside[..], &element].concat()), Some("Inventory.lock()[]"));
        // locks[hash & mask]: neither field is known to be an array here, and nothing is made up.
        let masked = [b::ALOAD_0, b::GETFIELD, 0, 6, b::ALOAD_0, b::GETFIELD, 0, 6, 0x15, 4, 0x7e, b::AALOAD];
        check(&with_tail(&masked), None);
    }

    #[test]
    fn a_local_variable_is_followed_to_where_it_was_loaded_from() {
        let head = [b::ALOAD_0, b::GETFIELD, 0, 6, b::ASTORE, 9, 0x00, b::ALOAD, 9];
        check(&with_tail(&head), Some("Inventory.lock"));
        // a parameter that nobody stored to says nothing
        check(&with_tail(&[b::ALOAD_0 + 2]), None);
    }

    #[test]
    fn a_synchronized_method_locks_its_receiver_or_class() {
        let mut site = Site {
            class: "com.acme.Inventory$Row",
            is_static: false,
            is_synchronized: true,
            code: &[b::ALOAD_0],
            bci: 0,
        };
        assert_eq!(lock_name(&site, &pool()).as_deref(), Some("Inventory$Row (this)"));
        site.is_static = true;
        assert_eq!(lock_name(&site, &pool()).as_deref(), Some("Inventory$Row.class"));
        for class in ["com/acme/Shop$$Lambda$31+0x00007f539800aaa0", "com.acme.Shop$$Lambda.0x00007f539800aaa0"] {
            assert_eq!(lock_name(&Site { class, ..site }, &pool()).as_deref(), Some("Shop$$Lambda.class"));
        }
    }

    #[test]
    fn an_array_of_the_vms_is_named_after_the_class_that_is_initialized() {
        let name = |code: &[u8], is_synchronized, bci| {
            let site = Site { class: "com.acme.Shop", is_static: false, is_synchronized, code, bci };
            lock_name(&site, &pool_of_calls())
        };
        let expected = Some("Inventory (initialization)".to_owned());
        for opcode in [b::GETSTATIC, b::PUTSTATIC, b::INVOKESTATIC] {
            assert_eq!(name(&[opcode, 0, FIELD], false, 0), expected);
        }
        assert_eq!(name(&[0x00, b::NEW, 0, 1], true, 1), expected);
        assert_eq!(name(&[b::NEW, 0, 1], true, 0).as_deref(), Some("Shop (this)"));
        assert_eq!(name(&[0x00], false, 0), None);
        let suits = |class| suits_class("Inventory (initialization)", class);
        assert!(suits("int[]") && !suits("com.acme.Loader") && suits_class("Inventory.lock", "com.acme.Loader"));
    }

    /// 1: the class; 6: the field, and the methods whose numbers are below.
    fn pool_of_calls() -> ConstantPool {
        let mut bytes = Vec::new();
        // 1: class 2, 2: its name
        bytes.extend([7, 0, 2]);
        bytes.extend(utf8("com/acme/Inventory"));
        let mut entries = 3u8;
        let mut member = |tag: u8, name: &str, descriptor: &str| {
            bytes.extend(utf8(name));
            bytes.extend(utf8(descriptor));
            bytes.extend([12, 0, entries, 0, entries + 1]);
            bytes.extend([tag, 0, 1, 0, entries + 2]);
            entries += 4;
        };
        member(9, "lock", "LX;");
        member(10, "lock", "()V");
        member(10, "readLock", "()LX;");
        member(10, "tryLock", "(JLjava/util/concurrent/TimeUnit;)Z");
        member(10, "await", "()V");
        ConstantPool::parse(usize::from(entries), bytes)
    }

    const FIELD: u8 = 6;
    const LOCK: u8 = 10;
    const READ_LOCK: u8 = 14;
    const TRY_LOCK: u8 = 18;
    const AWAIT: u8 = 22;

    fn check_call(head: &[u8], call: u8, expected: Option<&str>) {
        let code = [head, &[b::INVOKEVIRTUAL, 0, call, 0x00, 0x00]].concat();
        let (class, bci) = ("com.acme.Inventory", head.len());
        let site = Site { class, is_static: false, is_synchronized: true, code: &code, bci };
        assert_eq!(synchronizer_name(&site, &pool_of_calls()).as_deref(), expected, "{head:?} {call}");
    }

    #[test]
    fn a_synchronizer_is_called_as_what_its_lock_is_called_on() {
        let field = [b::ALOAD_0, b::GETFIELD, 0, FIELD];
        check_call(&field, LOCK, Some("Inventory.lock"));
        check_call(&[&field[..], &[b::INVOKEVIRTUAL, 0, READ_LOCK]].concat(), LOCK, Some("Inventory.lock"));
        // lock.tryLock(1, SECONDS)
        check_call(&[&field[..], &[0x0a, b::GETSTATIC, 0, FIELD]].concat(), TRY_LOCK, Some("Inventory.lock"));
        // ReentrantLock lock = this.lock; lock.lock()
        check_call(&[&field[..], &[b::ASTORE_0 + 1, b::ALOAD_0 + 1]].concat(), LOCK, Some("Inventory.lock"));
        check_call(&[b::ALOAD_0], LOCK, Some("Inventory (this)"));
    }

    #[test]
    fn a_synchronizer_is_not_named_after_another_object_or_a_guess() {
        let field = [b::ALOAD_0, b::GETFIELD, 0, FIELD];
        check_call(&field, AWAIT, None);
        // Arguments that are computed.
        check_call(&[&field[..], &[0x0a, b::ALOAD_0, b::GETFIELD, 0, FIELD]].concat(), TRY_LOCK, None);
        check_call(&[0x0a], TRY_LOCK, None);
        check_call(&[], LOCK, None);
        assert_eq!((arguments("()V"), arguments("(IJ)V"), arguments("(LX;D)V")), (Some(0), Some(2), Some(2)));
        assert_eq!((arguments("([I)V"), arguments("(L"), arguments("")), (None, None, None));
    }

    #[test]
    fn nonsense_is_not_named() {
        check(&[0xff, b::MONITORENTER], None);
        check(&[b::GETSTATIC, b::MONITORENTER], None);
        assert!(ConstantPool::parse(9, vec![1, 0xff]).class(1).is_none());
    }
}
