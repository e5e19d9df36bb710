//! What contention can be broken down by: the names. Their values are made in `aggregate/tree.rs`, whose
//! last arm hides one that is missing; the page has its aspects in `crates/page/src/contract.rs`.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// One level of a breakdown. Any sequence of aspects is allowed, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Aspect {
    /// `monitor`, `juc`, `conditional`.
    Kind,
    /// Class of the lock object.
    LockClass,
    /// What a developer calls the lock: all locks of one name, or where they have
    /// none of one class, or of one place in the code.
    LockName,
    /// The lock itself.
    Lock,
    /// The blocked thread.
    ContenderThread,
    /// The blocked thread's group, its name with numbers folded.
    ContenderGroup,
    /// The method that tried to acquire the lock.
    ContenderMethod,
    /// The blocked thread's call chain.
    ContenderChain,
    /// The thread that owned the lock.
    OwnerThread,
    /// The group of the thread that owned the lock.
    OwnerGroup,
    /// The method that owned the lock.
    OwnerMethod,
    /// The call chain of the frame that acquired the lock.
    OwnerChain,
    /// When, in intervals of equal length.
    Time,
}

impl Aspect {
    /// Every aspect, in the order in which help texts list them.
    pub const ALL: [Aspect; 13] = [
        Aspect::Kind,
        Aspect::LockClass,
        Aspect::LockName,
        Aspect::Lock,
        Aspect::ContenderThread,
        Aspect::ContenderGroup,
        Aspect::ContenderMethod,
        Aspect::ContenderChain,
        Aspect::OwnerThread,
        Aspect::OwnerGroup,
        Aspect::OwnerMethod,
        Aspect::OwnerChain,
        Aspect::Time,
    ];

    /// The name used on the command line and in JSON: `owner-method`.
    pub const fn name(self) -> &'static str {
        match self {
            Aspect::Kind => "kind",
            Aspect::LockClass => "lock-class",
            Aspect::LockName => "lock-name",
            Aspect::Lock => "lock",
            Aspect::ContenderThread => "contender-thread",
            Aspect::ContenderGroup => "contender-group",
            Aspect::ContenderMethod => "contender-method",
            Aspect::ContenderChain => "contender-chain",
            Aspect::OwnerThread => "owner-thread",
            Aspect::OwnerGroup => "owner-group",
            Aspect::OwnerMethod => "owner-method",
            Aspect::OwnerChain => "owner-chain",
            Aspect::Time => "time",
        }
    }

    /// True if it says something of the owner.
    pub const fn is_of_owner(self) -> bool {
        matches!(self, Aspect::OwnerThread | Aspect::OwnerGroup | Aspect::OwnerMethod | Aspect::OwnerChain)
    }

    /// Parses `lock,owner-method`. Blanks around the names are allowed.
    ///
    /// # Errors
    /// Names the aspect that is unknown or comes twice; an empty list is an
    /// error too.
    pub fn parse_list(list: &str) -> Result<Vec<Aspect>, AspectError> {
        let mut aspects = Vec::new();
        for name in list.split(',') {
            let aspect: Aspect = name.trim().parse()?;
            if aspects.contains(&aspect) {
                return Err(AspectError::Twice(aspect));
            }
            aspects.push(aspect);
        }
        Ok(aspects)
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Aspect {
    type Err = AspectError;

    fn from_str(name: &str) -> Result<Aspect, AspectError> {
        Aspect::ALL
            .into_iter()
            .find(|aspect| aspect.name() == name)
            .ok_or_else(|| AspectError::Unknown(name.to_owned()))
    }
}

/// Why a list of aspects was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AspectError {
    /// There is no aspect of this name.
    Unknown(String),
    /// The aspect is listed more than once.
    Twice(Aspect),
}

impl fmt::Display for AspectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AspectError::Unknown(name) => {
                write!(f, "unknown aspect '{name}'; known aspects: ")?;
                for (i, aspect) in Aspect::ALL.into_iter().enumerate() {
                    write!(f, "{}{aspect}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            AspectError::Twice(aspect) => write!(f, "aspect '{aspect}' is listed twice"),
        }
    }
}

impl std::error::Error for AspectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for aspect in Aspect::ALL {
            assert_eq!(aspect.name().parse(), Ok(aspect));
            let json = serde_json::to_string(&aspect).ok();
            assert_eq!(json, Some(format!("\"{aspect}\"")));
        }
    }

    #[test]
    fn lists_name_what_is_wrong() {
        assert_eq!(Aspect::parse_list("lock, owner-method"), Ok(vec![Aspect::Lock, Aspect::OwnerMethod]));
        assert_eq!(Aspect::parse_list("lock,lock"), Err(AspectError::Twice(Aspect::Lock)));
        let error = Aspect::parse_list("lock,colour").map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.starts_with("unknown aspect 'colour'; known aspects: kind, ")));
        assert!(Aspect::parse_list("").is_err());
    }
}
