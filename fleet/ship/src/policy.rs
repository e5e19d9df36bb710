//! Which JVMs are recorded, and what they are called.

use crate::jvms::Jvm;
use headway_rollup::Source;

/// Which JVMs are recorded.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Users whose JVMs are; empty: of all users.
    pub users: Vec<String>,
    /// Parts of main classes or jars; empty: all.
    pub names: Vec<String>,
    /// Attributes that a JVM has, all of them (`deployment.environment`, `production`).
    pub attributes: Vec<(String, String)>,
    /// So many at a time.
    pub most: usize,
}

impl Policy {
    /// True if a JVM is to be recorded.
    pub fn admits(&self, jvm: &Jvm) -> bool {
        let of_user = self.users.is_empty() || self.users.contains(&jvm.user);
        let of_name = self.names.is_empty() || self.names.iter().any(|name| jvm.main.contains(name));
        of_user && of_name && self.attributes.iter().all(|(name, value)| jvm.names.has(name, value))
    }
}

/// What a JVM says about itself, in the variables of its environment that OpenTelemetry defines
/// (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`). Nothing else of the environment is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    attributes: Vec<(String, String)>,
    service: Option<String>,
    version: Option<String>,
    environment: Option<String>,
}

impl Names {
    /// Reads them from an environment (`/proc/PID/environ`).
    pub fn of_environment(environment: &[u8]) -> Names {
        let variable = |name: &str| {
            let mut variables = environment.split(|byte| *byte == 0);
            let value = variables.find_map(|text| text.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
            std::str::from_utf8(value).ok().map(str::to_owned)
        };
        let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let pairs = attributes.split(',').filter_map(|pair| pair.split_once('='));
        let attributes: Vec<_> = pairs.map(|(name, value)| (name.trim().to_owned(), decoded(value.trim()))).collect();
        let attribute = |name: &str| attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        Names {
            service: filled(variable("OTEL_SERVICE_NAME")).or_else(|| filled(attribute("service.name"))),
            version: filled(attribute("service.version")),
            environment: filled(attribute("deployment.environment.name"))
                .or_else(|| filled(attribute("deployment.environment"))),
            attributes,
        }
    }

    /// True if the JVM has this attribute. `OTEL_SERVICE_NAME` comes before `service.name`.
    fn has(&self, name: &str, value: &str) -> bool {
        match name {
            "service.name" => self.service.as_deref() == Some(value),
            _ => self.attributes.iter().find(|(key, _)| key == name).is_some_and(|(_, found)| found == value),
        }
    }
}

/// `%2C` and its like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What JVMs are called, whatever they say: `None` where they may.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The machine.
    pub host: String,
    /// The service.
    pub service: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The environment.
    pub environment: Option<String>,
    /// `name=value`.
    pub labels: Vec<String>,
    /// CPUs of the machine.
    pub cpus: Option<u32>,
}

impl Given {
    /// What a JVM's rows are of: as this says, else as the JVM says, else its main class as the service.
    pub fn source(&self, jvm: &Jvm) -> Source {
        let first = |given: &Option<String>, said: &Option<String>| given.clone().or_else(|| said.clone());
        let main = if jvm.main.is_empty() { "unknown" } else { &jvm.main };
        Source {
            host: self.host.clone(),
            service: first(&self.service, &jvm.names.service).unwrap_or_else(|| main.to_owned()),
            version: first(&self.version, &jvm.names.version).unwrap_or_default(),
            environment: first(&self.environment, &jvm.names.environment).unwrap_or_default(),
            labels: self.labels.clone(),
            cpus: self.cpus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvms::Process;

    fn jvm(user: &str, main: &str, environment: &str) -> Jvm {
        let names = Names::of_environment(environment.as_bytes());
        Jvm { process: Process { pid: 1, started: 2 }, uid: 3, user: user.into(), main: main.into(), names }
    }

    #[test]
    fn users_and_names_select() {
        let policy = |users: &[&str], names: &[&str]| Policy {
            users: users.iter().map(ToString::to_string).collect(),
            names: names.iter().map(ToString::to_string).collect(),
            attributes: Vec::new(),
            most: 1,
        };
        let shop = jvm("shop", "com.acme.Shop", "");
        for (users, names, admitted) in [
            (&[][..], &[][..], true),
            (&["other", "shop"], &[], true),
            (&["sho"], &[], false),
            (&[], &["Shop"], true),
            (&[], &["Till", "acme"], true),
            (&[], &["Till"], false),
            (&["other"], &["Shop"], false),
        ] {
            assert_eq!(policy(users, names).admits(&shop), admitted, "{users:?} {names:?}");
        }
    }

    #[test]
    fn attributes_select() {
        let said = "OTEL_RESOURCE_ATTRIBUTES=service.name=no, team=till%2Cshop ,tier=1,tier=2\0OTEL_SERVICE_NAME=shop\0TEAM=x\0";
        let (shop, silent) = (jvm("u", "Main", said), jvm("u", "Main", ""));
        for (wanted, admitted) in [
            (&[][..], true),
            (&[("team", "till,shop")], true),
            (&[("team", "till")], false),
            (&[("tier", "1")], true),
            (&[("tier", "2")], false),
            (&[("service.name", "shop")], true),
            (&[("service.name", "no")], false),
            (&[("TEAM", "x")], false),
            (&[("team", "till,shop"), ("tier", "1")], true),
            (&[("team", "till,shop"), ("tier", "3")], false),
        ] {
            let attributes = wanted.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            let policy = Policy { users: Vec::new(), names: Vec::new(), attributes, most: 1 };
            assert_eq!(policy.admits(&shop), admitted, "{wanted:?}");
            assert_eq!(policy.admits(&silent), wanted.is_empty(), "{wanted:?}");
        }
    }

    #[test]
    fn what_is_given_comes_before_what_the_jvm_says() {
        let said =
            "A=b\0OTEL_RESOURCE_ATTRIBUTES=service.name=no, service.version=1%2C2 ,deployment.environment=test\0\
                    OTEL_SERVICE_NAME=shop\0PASSWORD=secret\0";
        let source = Given::default().source(&jvm("u", "Main", said));
        assert_eq!((&*source.service, &*source.version, &*source.environment), ("shop", "1,2", "test"));
        let given = Given { service: Some("till".into()), version: Some("3".into()), ..Given::default() };
        let source = given.source(&jvm("u", "Main", said));
        assert_eq!((&*source.service, &*source.version, &*source.environment), ("till", "3", "test"));
        let source = Given::default().source(&jvm("u", "Main", "OTEL_SERVICE_NAME=\0XOTEL_SERVICE_NAME=x"));
        assert_eq!((&*source.service, &*source.version), ("Main", ""));
        let source = Given::default().source(&jvm("u", "", "OTEL_RESOURCE_ATTRIBUTES=service.name=%é%4"));
        assert_eq!(source.service, "%é%4");
    }
}
