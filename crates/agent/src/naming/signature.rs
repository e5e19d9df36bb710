//! Names of classes, from the signatures that the VM gives.

use std::sync::Arc;

/// Dotted name of a class signature, and whether the class is hidden:
/// `Lcom/acme/Foo;` -> `com.acme.Foo`, `[I` -> `int[]`.
pub fn class_name(signature: &str) -> (Arc<str>, bool) {
    let name = headway_model::class_name::of_descriptor(signature);
    // A hidden class is `Lcom/acme/Foo.0x0000..;`: the suffix has the only dot.
    let hidden = name.contains('.');
    (Arc::from(name.replace('/', ".")), hidden)
}

/// `com.acme.Shop$$Lambda.0x00007f2d` and `com/acme/Shop$$Lambda$31+0x00007f2d` are `..Shop$$Lambda`: the rest is
/// another one in each run.
pub fn without_run(class: &str) -> &str {
    const LAMBDA: &str = "$$Lambda";
    class.find(LAMBDA).and_then(|at| class.get(..at + LAMBDA.len())).unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_signatures_become_names() {
        assert_eq!(&*class_name("Lcom/acme/Foo$Bar;").0, "com.acme.Foo$Bar");
        assert_eq!(&*class_name("[[I").0, "int[][]");
        assert_eq!(&*class_name("[Ljava/lang/String;").0, "java.lang.String[]");
        assert!(class_name("Lcom/acme/Foo$$Lambda.0x0000000800c03000;").1);
    }
}
