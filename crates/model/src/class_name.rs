//! Names of classes.

/// A type as sources spell it, from its descriptor; separators stay as they are:
/// `[I` is `int[]`, `[Ljava.lang.String;` is `java.lang.String[]`. What is no
/// descriptor stays.
pub fn of_descriptor(descriptor: &str) -> String {
    let element = descriptor.trim_start_matches('[');
    let depth = descriptor.len() - element.len();
    let element = match element {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        "V" => "void",
        class => class.strip_prefix('L').unwrap_or(class).trim_end_matches(';'),
    };
    element.to_owned() + &"[]".repeat(depth)
}

#[cfg(test)]
mod tests {
    use super::of_descriptor;

    #[test]
    fn descriptors_become_what_sources_say() {
        for (descriptor, expected) in [
            ("I", "int"),
            ("V", "void"),
            ("[[J", "long[][]"),
            ("Lcom/acme/Foo$Bar;", "com/acme/Foo$Bar"),
            ("[[Ljava.lang.String;", "java.lang.String[][]"),
            ("com.acme.Foo", "com.acme.Foo"),
            ("", ""),
        ] {
            assert_eq!(of_descriptor(descriptor), expected);
        }
    }
}
