//! What a JVM runs: its main class, jar or module.

/// From the JVM's own counter `sun.rt.javaCommand`: the first word.
pub fn of_java_command(command: &str) -> String {
    let command = command.trim();
    // A jar's path may contain blanks; it ends with its extension.
    let end = command
        .find(".jar ")
        .map(|at| at + ".jar".len())
        .or_else(|| command.find(' '))
        .filter(|end| !command.starts_with(|c: char| c.is_alphabetic()) || !command[..*end].contains(' '));
    let end = end.or_else(|| command.find(' ')).unwrap_or(command.len());
    command[..end].to_owned()
}

/// From the command line, for JVMs whose counters cannot be read.
pub fn of_arguments(arguments: &[String]) -> String {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-jar" | "-m" | "--module" => return words.next().cloned().unwrap_or_default(),
            option if takes_a_value(option) => {
                words.next();
            }
            option if option.starts_with('-') || option.starts_with('@') => {}
            main => return main.to_owned(),
        }
    }
    String::new()
}

/// The launcher's options whose value is a word of its own.
fn takes_a_value(option: &str) -> bool {
    const OPTIONS: [&str; 13] = [
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--upgrade-module-path",
        "--add-modules",
        "--add-exports",
        "--add-opens",
        "--add-reads",
        "--patch-module",
        "--limit-modules",
        "--enable-native-access",
    ];
    OPTIONS.contains(&option)
}

/// The last part of a class name, module or path: `Main` of `com.acme.Main`,
/// `app.jar` of `/opt/app.jar`.
pub fn short(main: &str) -> &str {
    let base = main.rsplit('/').next().unwrap_or(main);
    if base.ends_with(".jar") {
        return base;
    }
    base.rsplit('.').next().unwrap_or(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_gives_the_first_word() {
        assert_eq!(of_java_command("com.acme.Main --port 1"), "com.acme.Main");
        assert_eq!(of_java_command("com.acme.Main lib/a.jar x"), "com.acme.Main");
        assert_eq!(of_java_command("/opt/my app/app.jar --port 1"), "/opt/my app/app.jar");
        assert_eq!(of_java_command("app.jar run"), "app.jar");
        assert_eq!(of_java_command("mod/com.acme.Main"), "mod/com.acme.Main");
        assert_eq!(of_java_command(""), "");
    }

    #[test]
    fn the_command_line_is_read_as_the_launcher_reads_it() {
        let main = |line: &str| of_arguments(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(main("java -Xmx1g -cp a.jar:b com.acme.Main x"), "com.acme.Main");
        assert_eq!(main("java -ea -jar /opt/app.jar -v"), "/opt/app.jar");
        assert_eq!(main("java --module-path m -m mod/com.acme.Main"), "mod/com.acme.Main");
        assert_eq!(main("java -version"), "");
    }

    #[test]
    fn no_command_is_a_reason_to_panic() {
        let seeds = ["com.acme.Main --port 1", "/opt/my app/gr\u{f6}\u{df}e.jar --port 1", "java -cp a -jar b.jar"];
        headway_hostile::change::feed(&seeds.map(|seed| seed.as_bytes().to_vec()), 50_000, |bytes| {
            let command = String::from_utf8_lossy(bytes);
            let main = of_java_command(&command);
            let _ = (short(&main), of_arguments(&command.split(' ').map(str::to_owned).collect::<Vec<_>>()));
        });
    }

    #[test]
    fn short_names() {
        assert_eq!(short("com.acme.Main"), "Main");
        assert_eq!(short("/opt/app.jar"), "app.jar");
        assert_eq!(short("mod/com.acme.Main"), "Main");
    }
}
