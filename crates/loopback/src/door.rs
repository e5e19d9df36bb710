//! Who may ask.

use crate::{Asked, Reply};
use std::io;

/// The secret with which every path begins, and the names under which this server may be asked.
#[derive(Debug)]
pub struct Door {
    token: String,
    hosts: [String; 2],
}

/// The part of a request that decides.
#[derive(Debug)]
pub(crate) struct Knock<'a> {
    /// True for GET; anything else counts as POST.
    pub get: bool,
    /// What stands in the request line, a query string included.
    pub path: &'a str,
    /// The one `Host`; empty if there is none or more than one.
    pub host: &'a str,
    /// `Origin`, if the request has one.
    pub origin: Option<&'a str>,
}

impl Door {
    /// A door with its own secret.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(port: u16) -> io::Result<Door> {
        let mut secret = [0_u8; 16];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty())?;
        let token = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Door { token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] })
    }

    /// The address that opens the door.
    pub fn address(&self) -> String {
        let [host, _] = &self.hosts;
        format!("http://{host}/{}/", self.token)
    }

    /// The request, if it may come in.
    pub(crate) fn let_in(&self, knock: &Knock<'_>, body: String) -> Result<Asked, Reply> {
        if !self.hosts.iter().any(|host| host == knock.host) {
            return Err(Reply::refusal(403, "this server answers to its loopback address only"));
        }
        if knock.origin.is_some_and(|origin| !self.hosts.iter().any(|host| origin == format!("http://{host}"))) {
            return Err(Reply::refusal(403, "this server answers to its own page only"));
        }
        let Some(rest) = self.after_token(knock.path) else {
            return Err(Reply::refusal(404, "there is nothing here; the address that Headway printed is longer"));
        };
        let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        Ok(Asked { get: knock.get, path: path.to_owned(), parameters: parameters.to_owned(), body })
    }

    /// What follows `/TOKEN/`. Takes as long for a wrong secret as for the right one.
    fn after_token<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        let differences = token.bytes().zip(self.token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        (differences == 0 && token.len() == self.token.len()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(door: &Door, path: &str, host: &str, origin: Option<&str>) -> u16 {
        let knock = Knock { get: true, path, host, origin };
        door.let_in(&knock, String::new()).map_or_else(|reply| reply.status, |_| 200)
    }

    #[test]
    fn only_who_knows_the_secret_and_asks_this_host_comes_in() {
        let door = Door::new(4711).expect("random numbers");
        let path = format!("/{}/", door.token);
        let local = "127.0.0.1:4711";
        assert_eq!(status(&door, &path, local, None), 200);
        assert_eq!(status(&door, &path, "localhost:4711", None), 200);
        assert_eq!(status(&door, &path, local, Some("http://127.0.0.1:4711")), 200);
        assert_eq!(status(&door, &path, "evil.example:4711", None), 403);
        assert_eq!(status(&door, &path, local, Some("http://evil.example")), 403);
        assert_eq!(status(&door, "/", local, None), 404);
        assert_eq!(status(&door, "//", local, None), 404);
        let wrong = format!("/{}/", "0".repeat(door.token.len()));
        assert_eq!(status(&door, &wrong, local, None), 404);
        assert_eq!(status(&door, &path[..path.len() - 2], local, None), 404);
    }

    #[test]
    fn a_site_sees_what_follows_the_secret() {
        let door = Door::new(4711).expect("random numbers");
        let path = format!("/{}/query?beginning=1", door.token);
        let knock = Knock { get: false, path: &path, host: "localhost:4711", origin: None };
        let asked = door.let_in(&knock, "{}".into()).expect("let in");
        assert_eq!(
            (asked.path.as_str(), asked.parameters.as_str(), asked.body.as_str()),
            ("query", "beginning=1", "{}")
        );
        assert!(!asked.get);
    }

    #[test]
    fn every_door_has_its_own_secret() {
        let [one, other] = [4711, 4711].map(|port| Door::new(port).expect("random numbers"));
        assert_ne!(one.token, other.token);
        assert_eq!(one.token.len(), 32);
        assert_eq!(one.address(), format!("http://127.0.0.1:4711/{}/", one.token));
    }
}
