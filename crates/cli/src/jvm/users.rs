//! Users: who we are, and what they are called.

use std::fs;

/// Our effective user id.
pub fn effective() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// True if we may do to a process of user `uid` what its owner may do.
pub fn may_act_for(uid: u32) -> bool {
    effective() == 0 || effective() == uid
}

/// The user's name as `/etc/passwd` has it, else the number.
pub fn name(uid: u32) -> String {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_in(&passwd, uid).unwrap_or_else(|| uid.to_string())
}

fn name_in(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_passwd_file() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbad line\napp:x:1001:1001::/home/app:/bin/sh\n";
        assert_eq!(name_in(passwd, 1001).as_deref(), Some("app"));
        assert_eq!(name_in(passwd, 7), None);
    }
}
