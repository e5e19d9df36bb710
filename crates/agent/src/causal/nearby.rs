//! Whether what experiments are to be made with is there: methods, lines and names that are
//! mistyped are refused before anything is changed in the VM, with what is near.
//!
//! Of classes that are loaded all is known. One that is not loaded may come later: whether
//! to wait for it is the user's choice, and made for him where the VM has just begun.

use crate::agent::Agent;
use crate::jni::{Jni, Ref};
use crate::options::Wishes;
use headway_causal::experiment::{Target, TargetKind};
use headway_class_file::ConstantPool;
use std::collections::{BTreeMap, BTreeSet};

use super::targets::is_called;

/// What a program says progress points by.
const API: &str = "io/headway/Headway";
/// Packages whose classes nobody means by a slip of the finger.
const JDK: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
/// Names that one sentence has room for.
const NAMED: usize = 5;

/// What is asked about classes: what a VM knows, or a test.
trait Loaded {
    /// Names of the loaded classes, `pkg.Outer$Inner`.
    fn classes(&self) -> Vec<&str>;
    /// The methods that a class declares; `None` if that is not known.
    fn methods(&self, class: &str) -> Option<BTreeSet<String>>;
    /// Classes by their source files.
    fn files(&self) -> BTreeMap<String, Vec<String>>;
    /// Lines of a class that code begins at; none if that is not known.
    fn lines(&self, class: &str) -> BTreeSet<u32>;
    /// Texts in classes that say progress points; `None` if no class does.
    fn said(&self) -> Option<BTreeSet<String>>;
}

/// Refuses what cannot be meant.
///
/// # Errors
/// What is not there, and what is near.
pub fn check(agent: &'static Agent, jni: Jni, wishes: &Wishes) -> Result<(), String> {
    let vm = Vm::new(agent, jni);
    let checked = check_all(&vm, wishes);
    vm.classes.into_iter().for_each(|(_, class)| jni.forget(class));
    checked
}

fn check_all(loaded: &impl Loaded, wishes: &Wishes) -> Result<(), String> {
    for point in wishes.points() {
        match (point.rsplit_once(':'), point.contains('.')) {
            (Some((file, line)), _) => check_line(loaded, file, line, wishes.awaits)?,
            (None, true) => check_method(loaded, &point, |class, wanted| class == wanted, wishes.awaits)?,
            (None, false) => check_said(loaded, &point, wishes.awaits)?,
        }
    }
    for name in &wishes.targets {
        let target = Target::parse(name);
        match target.kind {
            TargetKind::Line => {
                let (file, line) = name.rsplit_once(':').unwrap_or((name, ""));
                check_line(loaded, file, line, wishes.awaits)?;
            }
            TargetKind::Method => check_method(loaded, name, is_called, wishes.awaits)?,
            TargetKind::Call => {
                for method in name.split(" < ") {
                    check_method(loaded, method.trim(), is_called, wishes.awaits)?;
                }
            }
            // A lock becomes known when somebody contends for it.
            TargetKind::Lock | TargetKind::Everything => {}
        }
    }
    Ok(())
}

/// A method of a class, which `is_meant` compares by their names. One without a class may
/// be anybody's.
fn check_method(
    loaded: &impl Loaded,
    name: &str,
    is_meant: impl Fn(&str, &str) -> bool,
    awaits: bool,
) -> Result<(), String> {
    let Some((class, method)) = name.rsplit_once('.') else { return Ok(()) };
    let classes = loaded.classes();
    let meant: Vec<&str> = classes.iter().copied().filter(|known| is_meant(known, class)).collect();
    if meant.is_empty() {
        let near = near_class(class, &classes);
        let hint = near.map(|near| {
            let methods = loaded.methods(near).unwrap_or_default();
            let method = if methods.contains(method) { Some(method) } else { nearest(method, &methods) };
            method.map_or(near.to_owned(), |method| format!("{near}.{method}"))
        });
        return match (hint, awaits) {
            (_, true) => Ok(()),
            (Some(near), false) => {
                Err(format!("no class {class} is loaded; did you mean {near}? If it is loaded later: --wait"))
            }
            (None, false) => Err(format!("no class {class} is loaded yet; --wait waits for it")),
        };
    }
    let mut all = BTreeSet::new();
    for one in &meant {
        match loaded.methods(one) {
            Some(methods) if methods.contains(method) => return Ok(()),
            Some(methods) => all.extend(methods),
            None => return Ok(()),
        }
    }
    let class = meant.first().copied().unwrap_or(class);
    let hint = nearest(method, &all).map(|near| format!("; did you mean {class}.{near}?"));
    Err(format!("the class {class} has no method {method}{}", hint.unwrap_or_default()))
}

fn check_line(loaded: &impl Loaded, path: &str, line: &str, awaits: bool) -> Result<(), String> {
    let Ok(line) = line.parse::<u32>() else { return Ok(()) };
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    let files = loaded.files();
    let Some(classes) = files.get(file) else {
        let near = nearest(file, files.keys());
        return match (near, awaits) {
            (_, true) => Ok(()),
            (Some(near), false) => {
                Err(format!("no class of {file} is loaded; did you mean {near}:{line}? If one is loaded later: --wait"))
            }
            (None, false) => Err(format!("no class of {file} is loaded yet; --wait waits for one")),
        };
    };
    let lines: BTreeSet<u32> = classes.iter().flat_map(|class| loaded.lines(class)).collect();
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Ok(()) };
    if lines.contains(&line) || awaits {
        return Ok(());
    }
    let near = lines.iter().min_by_key(|known| known.abs_diff(line)).unwrap_or(first);
    Err(format!(
        "no code of {file} begins at line {line}; the nearest line with code is {near} (loaded classes have \
         {first} to {last}; --wait waits for others)"
    ))
}

/// A name that the program says by `Headway.progress`.
fn check_said(loaded: &impl Loaded, name: &str, awaits: bool) -> Result<(), String> {
    if awaits {
        return Ok(());
    }
    let Some(said) = loaded.said() else {
        return Err(format!(
            "{name} is no method (package.Class.method) and no line (File.java:42), and no loaded class says progress \
             points by {}; --wait waits for one",
            API.replace('/', ".")
        ));
    };
    if said.contains(name) {
        return Ok(());
    }
    let hint = match nearest(name, &said) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("texts of the classes that say some: {}", listed(&said)),
    };
    Err(format!("no loaded class says a progress point {name}; {hint} If the program makes up the name: --wait"))
}

fn listed(names: &BTreeSet<String>) -> String {
    let mut shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    if names.len() > NAMED {
        shown.push("...");
    }
    format!("{}.", shown.join(", "))
}

/// The class that was meant: of the same simple name in another package, or a slip away.
pub fn near_class<'a>(typed: &str, classes: &[&'a str]) -> Option<&'a str> {
    let simple = |class: &str| class.rsplit_once('.').map_or(class, |(_, simple)| simple).to_lowercase();
    let wanted = simple(typed);
    let most = slips(&wanted);
    let whole = typed.to_lowercase();
    let distance = |class: &str| {
        let (own, name) = (simple(class), class.to_lowercase());
        let slips = match typed.contains('.') && own != wanted {
            true if name.len().abs_diff(whole.len()) <= most => strsim::osa_distance(&name, &whole),
            true => usize::MAX,
            false if own.len().abs_diff(wanted.len()) <= most => strsim::osa_distance(&own, &wanted),
            false => usize::MAX,
        };
        (slips, name.len().abs_diff(whole.len()))
    };
    let is_ours = |class: &&&str| !JDK.iter().any(|jdk| class.starts_with(jdk)) && !class.contains("$$");
    let near = classes.iter().filter(is_ours).map(|class| (distance(class), *class));
    near.filter(|((slips, _), _)| *slips <= most).min().map(|(_, class)| class)
}

/// How many letters of a word may be wrong.
fn slips(word: &str) -> usize {
    (word.len() / 3).clamp(1, 3)
}

/// The name that was meant.
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
    let wanted = typed.to_lowercase();
    let most = slips(&wanted);
    let near = names.into_iter().map(|name| (strsim::osa_distance(&name.to_lowercase(), &wanted), name.as_str()));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

/// The classes of this VM. Only what is asked of a class is looked up.
struct Vm {
    agent: &'static Agent,
    classes: Vec<(String, Ref)>,
}

impl Vm {
    fn new(agent: &'static Agent, jni: Jni) -> Vm {
        let mut classes = Vec::new();
        for class in agent.jvmti.loaded_classes().unwrap_or_default() {
            let signature = agent.jvmti.class_signature(class).unwrap_or_default();
            match signature.strip_prefix('L').and_then(|rest| rest.strip_suffix(';')) {
                Some(name) => classes.push((name.replace('/', "."), class)),
                None => jni.forget(class),
            }
        }
        Vm { agent, classes }
    }

    /// Classes that are not the JDK's.
    fn of_program(&self) -> impl Iterator<Item = &(String, Ref)> {
        self.classes.iter().filter(|(name, _)| !JDK.iter().any(|jdk| name.starts_with(jdk)))
    }

    /// All of this name: several loaders may have one.
    fn named<'a>(&'a self, class: &'a str) -> impl Iterator<Item = Ref> + 'a {
        self.classes.iter().filter(move |(name, _)| name == class).map(|(_, class)| *class)
    }
}

impl Loaded for Vm {
    fn classes(&self) -> Vec<&str> {
        self.classes.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn methods(&self, class: &str) -> Option<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for class in self.named(class) {
            let methods = self.agent.jvmti.class_methods(class).ok()?;
            names.extend(
                methods.into_iter().filter_map(|method| self.agent.jvmti.method_name(method).ok()).map(|n| n.0),
            );
        }
        Some(names)
    }

    fn files(&self) -> BTreeMap<String, Vec<String>> {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, class) in self.of_program() {
            if let Ok(file) = self.agent.jvmti.source_file(*class) {
                files.entry(file).or_default().push(name.clone());
            }
        }
        files
    }

    fn lines(&self, class: &str) -> BTreeSet<u32> {
        let methods = self.named(class).flat_map(|class| self.agent.jvmti.class_methods(class).unwrap_or_default());
        let entries = methods.flat_map(|method| self.agent.jvmti.line_numbers(method).unwrap_or_default());
        entries.map(|entry| entry.line_number as u32).collect()
    }

    fn said(&self) -> Option<BTreeSet<String>> {
        let own = API.replace('/', ".");
        let mut said: Option<BTreeSet<String>> = None;
        for (_, class) in self.of_program().filter(|(name, _)| *name != own) {
            let Ok((entries, bytes)) = self.agent.jvmti.constant_pool(*class) else { continue };
            let pool = ConstantPool::parse(entries, bytes);
            if pool.names_class(API) {
                said.get_or_insert_default().extend(pool.strings());
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes of `Shop.java`, with methods at lines 10, 20, ... in their order.
    struct Shop;

    const CLASSES: [(&str, &[&str]); 4] = [
        ("com.acme.Shop", &["<init>", "order", "price"]),
        ("com.acme.Shop$Cart", &["add"]),
        ("com.acme.Inventory", &["rebuildIndex"]),
        ("java.util.Map", &["get"]),
    ];

    impl Loaded for Shop {
        fn classes(&self) -> Vec<&str> {
            CLASSES.iter().map(|(class, _)| *class).collect()
        }

        fn methods(&self, class: &str) -> Option<BTreeSet<String>> {
            let (_, methods) = CLASSES.iter().find(|(name, _)| *name == class)?;
            Some(methods.iter().map(|method| (*method).to_owned()).collect())
        }

        fn files(&self) -> BTreeMap<String, Vec<String>> {
            let shop = ["com.acme.Shop", "com.acme.Shop$Cart"].map(str::to_owned).to_vec();
            [("Shop.java".to_owned(), shop), ("Inventory.java".to_owned(), vec!["com.acme.Inventory".to_owned()])]
                .into()
        }

        fn lines(&self, class: &str) -> BTreeSet<u32> {
            (1..).zip(self.methods(class).unwrap_or_default()).map(|(number, _)| number * 10).collect()
        }

        fn said(&self) -> Option<BTreeSet<String>> {
            Some(["order placed", "refund"].map(str::to_owned).into())
        }
    }

    fn refusal(progress: &[&str], targets: &[&str], awaits: bool) -> Option<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let wishes = Wishes { progress: owned(progress), targets: owned(targets), awaits, ..Wishes::default() };
        check_all(&Shop, &wishes).err()
    }

    #[test]
    fn what_is_there_is_taken() {
        let points =
            ["com.acme.Shop.order", "com.acme.Shop$Cart.add", "Shop.java:20", "com/acme/Shop.java:10", "refund"];
        let targets = ["Shop.price", "com.acme.Inventory.rebuildIndex", "price", "Shop.price < Shop.order", "lock:x"];
        assert_eq!(refusal(&points, &targets, false), None);
    }

    #[test]
    fn a_mistyped_method_is_refused_with_its_neighbour() {
        let expected = "the class com.acme.Shop has no method ordr; did you mean com.acme.Shop.order?";
        assert_eq!(refusal(&["com.acme.Shop.ordr"], &[], false).as_deref(), Some(expected));
        let expected = "the class com.acme.Shop has no method prcie; did you mean com.acme.Shop.price?";
        // Also where classes are waited for: this one is there.
        assert_eq!(refusal(&[], &["Shop.prcie"], true).as_deref(), Some(expected));
        assert_eq!(refusal(&[], &["Shop.price < Shop.prcie"], false).as_deref(), Some(expected));
        let far = refusal(&["com.acme.Shop.zebra"], &[], false);
        assert_eq!(far.as_deref(), Some("the class com.acme.Shop has no method zebra"));
    }

    #[test]
    fn a_mistyped_class_is_refused_and_one_that_may_come_is_waited_for() {
        let of = |name: &str| refusal(&[name], &[], false).unwrap();
        assert!(of("com.acme.Shpo.order").contains("did you mean com.acme.Shop.order?"));
        assert!(of("Shop.order").contains("did you mean com.acme.Shop.order?"));
        assert!(of("com.acne.Inventory.rebuildIdex").contains("did you mean com.acme.Inventory.rebuildIndex?"));
        assert_eq!(of("org.other.Batch.step"), "no class org.other.Batch is loaded yet; --wait waits for it");
        assert_eq!(refusal(&["org.other.Batch.step", "Batch.java:4", "step"], &["Batch.x"], true), None);
    }

    #[test]
    fn lines_and_names_that_are_said_have_neighbours_too() {
        let of = |name: &str| refusal(&[name], &[], false).unwrap();
        assert!(of("Shop.java:28").contains("the nearest line with code is 30 "), "{}", of("Shop.java:28"));
        assert!(of("Shopp.java:10").contains("did you mean Shop.java:10?"));
        assert!(of("order plced").contains("did you mean order placed?"));
        assert!(of("zebra").contains("order placed, refund."));
    }
}
