//! Method names as a developer would write them.
//!
//! Compilers and the VM make up classes and methods: lambda bodies, hidden
//! classes whose names carry addresses, Kotlin's and Scala's encodings. Their
//! names are turned back into what the source says, so that one piece of
//! source is one row, in every run.

use headway_model::Method;

/// A readable method name, in two lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MethodName {
    /// `com.acme.Inventory.rebuildIndex`.
    pub full: String,
    /// `Inventory.rebuildIndex`.
    pub short: String,
}

/// The readable name of a method.
pub fn readable(method: &Method) -> MethodName {
    if method.class.is_empty() {
        let name = method.name.to_string();
        return MethodName { full: name.clone(), short: name };
    }
    let (class, name) = readable_parts(&method.class, &method.name);
    MethodName { short: format!("{}.{name}", without_package(&class)), full: format!("{class}.{name}") }
}

/// The readable name of a class: without addresses, counters of generated
/// classes and Scala's marks of objects.
pub fn readable_class(class: &str) -> String {
    let class = strip_hidden(class);
    if let Some(outer) = before(class, "$$Lambda", '$') {
        return format!("{outer}.(lambda)");
    }
    for mark in ["$$EnhancerBySpringCGLIB$$", "$$SpringCGLIB$$", "$$EnhancerByCGLIB$$"] {
        if let Some(outer) = before(class, mark, 'C') {
            return format!("{outer}.(proxy)");
        }
    }
    if let Some(outer) = before(class, ".GeneratedMethodAccessor", 'G') {
        return format!("{outer}.GeneratedMethodAccessor");
    }
    // A Scala object's class ends in `$`.
    let class = class.strip_suffix('$').filter(|rest| !rest.is_empty()).unwrap_or(class);
    class.to_owned()
}

/// `com.acme.Inventory$Row` is `Inventory$Row`.
pub fn without_package(class: &str) -> &str {
    let end = class.find(".(").unwrap_or(class.len());
    match class[..end].rfind('.') {
        Some(dot) => &class[dot + 1..],
        None => class,
    }
}

fn readable_parts(class: &str, name: &str) -> (String, String) {
    let stripped = strip_hidden(class);
    if let Some(parts) = kotlin_lambda(stripped, name).or_else(|| scala_class_lambda(stripped, name)) {
        return parts;
    }
    (readable_class(class), readable_name(name))
}

/// `Foo$$Lambda$14/0x0000000800c03000`, `Foo$$Lambda.0x00007f...`,
/// `Foo$$Lambda/0x...+0x...`: without the address.
fn strip_hidden(class: &str) -> &str {
    match class.split_once('/') {
        Some((name, _)) => name,
        None => before(class, ".0x", '0').unwrap_or(class),
    }
}

/// What comes before a mark, if the text has one. Most texts do not even have the
/// letter of the mark that is rare, and to look for that takes a tenth of what it
/// takes to begin a search for the mark.
fn before<'a>(text: &'a str, mark: &str, rare: char) -> Option<&'a str> {
    match text.contains(rare) {
        true => text.split_once(mark).map(|(before, _)| before),
        false => None,
    }
}

fn readable_name(name: &str) -> String {
    java_lambda(name)
        .or_else(|| scala_lambda(name))
        .or_else(|| kotlin_name(name))
        .unwrap_or_else(|| decode_operators(name))
}

/// javac: `lambda$rebuild$3` is the third lambda in `rebuild`.
fn java_lambda(name: &str) -> Option<String> {
    let rest = name.strip_prefix("lambda$")?;
    let (method, number) = split_number(rest)?;
    Some(match method {
        "new" => format!("<init>(lambda#{number})"),
        "static" => format!("<clinit>(lambda#{number})"),
        "null" => format!("(lambda#{number})"),
        _ => format!("{method}(lambda#{number})"),
    })
}

/// scalac: `$anonfun$rebuild$3`, with `$adapted` for its boxing twin.
fn scala_lambda(name: &str) -> Option<String> {
    let rest = name.strip_prefix("$anonfun$")?;
    let rest = rest.strip_suffix("$adapted").unwrap_or(rest);
    let (method, number) = split_number(rest)?;
    Some(format!("{}(lambda#{number})", decode_operators(method)))
}

/// scalac before 2.12: class `Foo$$anonfun$rebuild$1`, method `apply`.
fn scala_class_lambda(class: &str, name: &str) -> Option<(String, String)> {
    let (outer, rest) = class.split_once("$$anonfun$")?;
    if !name.starts_with("apply") {
        return None;
    }
    let (method, number) = split_number(rest)?;
    let outer = outer.strip_suffix('$').unwrap_or(outer);
    Some((outer.to_owned(), format!("{}(lambda#{number})", decode_operators(method))))
}

/// kotlinc: class `Foo$rebuild$1`, method `invoke` or `invokeSuspend`.
fn kotlin_lambda(class: &str, name: &str) -> Option<(String, String)> {
    let what = match name {
        "invoke" => "lambda",
        "invokeSuspend" => "suspend lambda",
        _ => return None,
    };
    let (rest, number) = split_number(class)?;
    let (outer, method) = rest.rsplit_once('$')?;
    let is_method = method.starts_with(|c: char| c.is_ascii_lowercase());
    is_method.then(|| (outer.to_owned(), format!("{method}({what}#{number})")))
}

fn kotlin_name(name: &str) -> Option<String> {
    if let Some(method) = name.strip_suffix("$default") {
        return Some(format!("{method}(default arguments)"));
    }
    if let Some(method) = name.strip_suffix("$suspendImpl") {
        return Some(method.to_owned());
    }
    if let Some(method) = name.strip_prefix("access$") {
        return (!method.is_empty() && !method.starts_with(|c: char| c.is_ascii_digit()))
            .then(|| format!("{method}(accessor)"));
    }
    // Functions with inline classes in their signature: `take-0Z1pQ4k`.
    let (method, hash) = name.rsplit_once('-')?;
    let mangled = hash.len() == 7 || hash == "impl";
    (mangled && !method.is_empty()).then(|| method.to_owned())
}

/// `rebuild$3` is `rebuild` and 3.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let (head, number) = text.rsplit_once('$')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && !head.is_empty()).then_some((head, number))
}

const OPERATORS: [(&str, char); 18] = [
    ("$plus", '+'),
    ("$minus", '-'),
    ("$times", '*'),
    ("$div", '/'),
    ("$eq", '='),
    ("$less", '<'),
    ("$greater", '>'),
    ("$bang", '!'),
    ("$percent", '%'),
    ("$up", '^'),
    ("$amp", '&'),
    ("$bar", '|'),
    ("$tilde", '~'),
    ("$qmark", '?'),
    ("$at", '@'),
    ("$hash", '#'),
    ("$colon", ':'),
    ("$bslash", '\\'),
];

/// scalac writes `$plus$plus` for `++`. Only whole words are decoded: what
/// follows must be the end, another `$` or a letter that cannot go on a word.
fn decode_operators(name: &str) -> String {
    if !name.contains('$') {
        return name.to_owned();
    }
    let mut decoded = String::new();
    let mut rest = name;
    'outer: while let Some(first) = rest.chars().next() {
        for (code, operator) in OPERATORS {
            if let Some(after) = rest.strip_prefix(code) {
                if !after.starts_with(|c: char| c.is_ascii_lowercase()) {
                    decoded.push(operator);
                    rest = after;
                    continue 'outer;
                }
            }
        }
        decoded.push(first);
        rest = &rest[first.len_utf8()..];
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(class: &str, name: &str, expected: &str) {
        let method = Method { class: class.into(), name: name.into(), ..Method::default() };
        assert_eq!(readable(&method).full, expected, "{class} {name}");
    }

    #[test]
    fn java() {
        check("com.acme.Inventory", "rebuildIndex", "com.acme.Inventory.rebuildIndex");
        check("com.acme.Inventory$Row", "<init>", "com.acme.Inventory$Row.<init>");
        check("com.acme.Inventory$1", "run", "com.acme.Inventory$1.run");
        check("com.acme.Inventory", "lambda$sell$2", "com.acme.Inventory.sell(lambda#2)");
        check("com.acme.Inventory", "lambda$new$0", "com.acme.Inventory.<init>(lambda#0)");
        check("com.acme.Inventory", "lambda$static$0", "com.acme.Inventory.<clinit>(lambda#0)");
        check("com.acme.Inventory", "lambda$null$1", "com.acme.Inventory.(lambda#1)");
        check("com.acme.Inventory", "access$000", "com.acme.Inventory.access$000");
        check("Main", "main", "Main.main");
        check("", "__libc_write", "__libc_write");
    }

    #[test]
    fn hidden_and_generated_classes_lose_addresses_and_counters() {
        let lambda = "com.acme.Inventory.(lambda).run";
        check("com.acme.Inventory$$Lambda$14/0x0000000800c03000", "run", lambda);
        check("com.acme.Inventory$$Lambda/0x00007f1c4c03d830", "run", lambda);
        check("com.acme.Inventory$$Lambda.0x00007f1c4c03d830", "run", lambda);
        check("com.acme.Inventory$$Lambda$14/723074861", "run", lambda);
        check("java.lang.invoke.LambdaForm$MH/0x0000000800c0a400", "invoke", "java.lang.invoke.LambdaForm$MH.invoke");
        check("com.acme.Shop$$SpringCGLIB$$0", "sell", "com.acme.Shop.(proxy).sell");
        check("com.acme.Shop$$EnhancerBySpringCGLIB$$1a2b3c4d", "sell", "com.acme.Shop.(proxy).sell");
        check(
            "jdk.internal.reflect.GeneratedMethodAccessor12",
            "invoke",
            "jdk.internal.reflect.GeneratedMethodAccessor.invoke",
        );
    }

    #[test]
    fn kotlin() {
        check("com.acme.ShopKt", "main", "com.acme.ShopKt.main");
        check("com.acme.Shop$sell$1", "invoke", "com.acme.Shop.sell(lambda#1)");
        check("com.acme.Shop$sell$2", "invokeSuspend", "com.acme.Shop.sell(suspend lambda#2)");
        check("com.acme.Shop$1", "invoke", "com.acme.Shop$1.invoke");
        check("com.acme.Shop", "sell$default", "com.acme.Shop.sell(default arguments)");
        check("com.acme.Shop", "sell$suspendImpl", "com.acme.Shop.sell");
        check("com.acme.Shop", "access$sell", "com.acme.Shop.sell(accessor)");
        check("com.acme.Shop", "take-0Z1pQ4k", "com.acme.Shop.take");
        check("com.acme.Money", "plus-impl", "com.acme.Money.plus");
    }

    #[test]
    fn scala() {
        check("com.acme.Shop$", "sell", "com.acme.Shop.sell");
        check("com.acme.Shop", "$anonfun$sell$3", "com.acme.Shop.sell(lambda#3)");
        check("com.acme.Shop$", "$anonfun$sell$3$adapted", "com.acme.Shop.sell(lambda#3)");
        check("com.acme.Shop$$anonfun$sell$1", "apply", "com.acme.Shop.sell(lambda#1)");
        check("com.acme.Stock", "$plus$plus", "com.acme.Stock.++");
        check("com.acme.Stock", "$colon$plus", "com.acme.Stock.:+");
        check("com.acme.Stock", "items_$eq", "com.acme.Stock.items_=");
        check("com.acme.Stock", "$update", "com.acme.Stock.$update");
    }

    #[test]
    fn short_names_leave_out_the_package() {
        let method = Method { class: "com.acme.Inventory$Row".into(), name: "get".into(), ..Method::default() };
        assert_eq!(readable(&method).short, "Inventory$Row.get");
        let lambda = Method {
            class: "com.acme.Inventory$$Lambda$14/0x0000000800c03000".into(),
            name: "run".into(),
            ..Method::default()
        };
        assert_eq!(readable(&lambda).short, "Inventory.(lambda).run");
    }
}
