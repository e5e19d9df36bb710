//! The memory map, and the objects the dynamic linker has loaded.

use super::{Mapping, Protection};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::ops::Range;

/// See [`crate::sys::Sys::mappings`].
pub(super) fn read() -> io::Result<Vec<Mapping>> {
    let text = fs::read("/proc/self/maps")?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(parse).collect())
}

/// `start-end perms offset dev inode   path`
fn parse(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        rest = rest.trim_start();
        let (field, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = tail;
        field
    };
    let (start, end) = field().split_once('-')?;
    let rights = field().as_bytes();
    let _offset_device_inode = (field(), field(), field());
    Some(Mapping {
        range: usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?,
        protection: Protection {
            read: *rights.first()? == b'r',
            write: *rights.get(1)? == b'w',
            execute: *rights.get(2)? == b'x',
        },
        path: rest.trim_start().to_owned(),
    })
}

/// A library as the dynamic linker loaded it.
#[derive(Clone, Debug)]
pub struct LoadedObject {
    /// What has to be added to an address in the file.
    pub bias: usize,
    /// Path under which it was loaded.
    pub path: String,
    /// Its program headers, in memory.
    pub headers: Vec<Segment>,
}

/// A program header.
#[derive(Clone, Debug)]
pub struct Segment {
    /// `p_type`
    pub kind: u32,
    /// Addresses as the file has them, without bias.
    pub addresses: Range<u64>,
    /// `p_flags` says readable.
    pub readable: bool,
}

/// The loaded object whose file name is `name`.
pub(crate) fn find_loaded(name: &str) -> Option<LoadedObject> {
    let mut search = Search { name, found: None };
    // SAFETY: the callback gets `search` back and keeps no pointer to it.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

struct Search<'a> {
    name: &'a str,
    found: Option<LoadedObject>,
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: libc::size_t, data: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the dynamic linker passes a valid record and our own `Search`.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search<'_>>()) };
    if info.dlpi_name.is_null() || info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: dlpi_name is a NUL-terminated string while the callback runs.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    if path.rsplit('/').next() != Some(search.name) {
        return 0;
    }
    // SAFETY: the linker gives the address and number of the headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    search.found = Some(LoadedObject {
        bias: info.dlpi_addr as usize,
        path: path.into_owned(),
        headers: headers.iter().map(segment).collect(),
    });
    1
}

fn segment(header: &libc::Elf64_Phdr) -> Segment {
    Segment {
        kind: header.p_type,
        addresses: header.p_vaddr..header.p_vaddr.saturating_add(header.p_memsz),
        readable: header.p_flags & libc::PF_R != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_path_with_spaces() {
        let line = "7f00-7f10 r-xp 00251000 fe:01 1311      /opt/a b/libjvm.so (deleted)";
        let mapping = parse(line).unwrap();
        assert_eq!(mapping.range, 0x7f00..0x7f10);
        assert_eq!(mapping.protection, Protection::READ_EXECUTE);
        assert_eq!(mapping.path, "/opt/a b/libjvm.so (deleted)");
    }

    #[test]
    fn an_anonymous_line() {
        let mapping = parse("7f00-7f10 rw-p 00000000 00:00 0 ").unwrap();
        assert!(mapping.protection.write && !mapping.protection.execute);
        assert_eq!(mapping.path, "");
    }

    #[test]
    fn the_c_library_is_found_by_its_file_name_only() {
        let libc = find_loaded("libc.so.6").unwrap();
        assert!(libc.path.ends_with("/libc.so.6"));
        assert!(libc.headers.len() > 3);
        assert!(find_loaded("c.so.6").is_none());
    }
}
