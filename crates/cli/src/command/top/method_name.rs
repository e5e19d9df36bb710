//! Names short enough for a column.

use crate::render::prose_fitted;

/// `com.acme.shop.Inventory.rebuildIndex` as `Inventory.rebuildIndex`, and
/// that without its middle where it is still too long.
pub fn short(method: &str, width: usize) -> String {
    let parts: Vec<&str> = method.rsplitn(3, '.').collect();
    let short = match parts.as_slice() {
        [name, class, ..] => format!("{class}.{name}"),
        _ => method.to_owned(),
    };
    prose_fitted(&short, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_go_first_then_the_middle() {
        assert_eq!(short("com.acme.shop.Inventory.rebuildIndex", 40), "Inventory.rebuildIndex");
        assert_eq!(short("com.acme.shop.Inventory.rebuildIndex", 14), "Inven…ildIndex");
        assert_eq!(short("main", 10), "main");
        assert_eq!(short("", 10), "");
    }
}
