//! What ids stand for in addresses: words that stay the same whenever and however a
//! recording is read again, while ids may not.

use crate::contract::{Aspect, How, Kind, Pick};
use crate::names::Names;

/// The id of a value; `None` if the recording has no such thing.
pub(crate) fn find(pick: &Pick, names: &Names) -> Option<u32> {
    let key = pick.key.as_str();
    let place = match pick.by {
        Aspect::Kind => position(Kind::ALL, key),
        Aspect::How => position(How::ALL, key),
        Aspect::ThreadKind | Aspect::Time => key.parse().ok(),
        Aspect::Lock => names.locks().iter().position(|lock| lock.name == key),
        Aspect::ContenderThread | Aspect::OwnerThread => names.threads().iter().position(|t| t.key == key),
        Aspect::ContenderChain | Aspect::OwnerChain | Aspect::Inside => find_chain(key, names),
        Aspect::LockClass
        | Aspect::LockName
        | Aspect::ContenderGroup
        | Aspect::ContenderMethod
        | Aspect::OwnerGroup
        | Aspect::OwnerMethod => names.texts().iter().position(|text| text == key),
    };
    place.and_then(|place| u32::try_from(place).ok())
}

fn position<T: serde::Serialize>(all: impl IntoIterator<Item = T>, key: &str) -> Option<usize> {
    all.into_iter().position(|one| serde_json::to_value(one).is_ok_and(|value| value == key))
}

fn find_chain(key: &str, names: &Names) -> Option<usize> {
    let wanted = (key.len() == 16).then(|| u64::from_str_radix(key, 16).ok()).flatten()?;
    let text = |id: u32| names.texts().get(id as usize).map_or("", String::as_str);
    let frames: Vec<[u32; 2]> =
        names.frames().iter().map(|frame| hash(format!("{}:{}", text(frame.method), frame.line).as_bytes())).collect();
    names.chains().iter().position(|chain| chain_hash(chain.iter().map(|frame| frames[*frame as usize])) == wanted)
}

const PRIME: u32 = 0x0100_0193;
const BASES: [u32; 2] = [0x811c_9dc5, 0x9747_b28c];

/// Two FNV-1a hashes, of which the page computes the same.
fn hash(bytes: &[u8]) -> [u32; 2] {
    BASES.map(|base| bytes.iter().fold(base, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME)))
}

fn chain_hash(frames: impl Iterator<Item = [u32; 2]>) -> u64 {
    let [high, low] = frames
        .fold(BASES, |[high, low], [one, other]| [(high ^ one).wrapping_mul(PRIME), (low ^ other).wrapping_mul(PRIME)]);
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_the_page_computes() {
        // The same numbers stand in web/src/data/keys.test.ts.
        let frames = ["com.acme.Ä.run:7", "java.lang.Thread.run:0"].map(|frame| hash(frame.as_bytes()));
        assert_eq!(format!("{:08x} {:08x}", frames[0][0], frames[0][1]), HASH);
        assert_eq!(format!("{:016x}", chain_hash(frames.into_iter())), CHAIN);
        assert_eq!(format!("{:016x}", chain_hash(std::iter::empty())), "811c9dc59747b28c");
    }

    const HASH: &str = "1b9a0a47 86196bc0";
    const CHAIN: &str = "36c8f13a9b53229b";
}
