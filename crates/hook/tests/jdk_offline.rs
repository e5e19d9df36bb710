//! What is found in the libjvm of each JDK, read as a file.

// One call is unsafe by its type.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

use headway_hook::known::Known;
use headway_hook::{HookError, Image, ImageError};
use headway_jdk::Jdk;

fn images() -> Vec<(u32, Image)> {
    Jdk::all().into_iter().map(|jdk| (jdk.release, Image::of_file(&jdk.libjvm()).unwrap())).collect()
}

#[test]
fn known_functions_resolve_and_their_beginnings_can_be_moved() {
    for (version, image) in images() {
        for known in Known::MONITORS.into_iter().chain(Known::CARRIERS) {
            let resolved = known.resolve(&image);
            let since = match known {
                Known::ResumeOperation => 24,
                Known::VirtualMount | Known::VirtualUnmount => 21,
                Known::ContendedExit | Known::Notify | Known::Reenter => 17,
            };
            if version < since {
                let error = resolved.unwrap_err();
                assert!(matches!(&error, HookError::Image(ImageError::NoSymbol { .. })), "JDK {version}: {error}");
                continue;
            }
            let function = resolved.unwrap_or_else(|e| panic!("JDK {version} {known:?}: {e}"));
            let prologue = function.prologue().unwrap();
            println!(
                "JDK {version} {}: {} bytes at {:#x}, {:02x?}",
                function.name,
                function.code.len(),
                function.address,
                prologue.bytes
            );
            assert!(known.names().contains(&function.name.as_str()), "{}", function.name);
            assert!(!function.live);
        }
    }
}

#[test]
fn the_right_name_is_found_for_the_version() {
    for (version, image) in images() {
        let exit = Known::ContendedExit.resolve(&image).unwrap().symbol;
        let expected = if version >= 24 {
            "_ZN13ObjectMonitor11exit_epilogEP10JavaThreadP12ObjectWaiter"
        } else {
            "_ZN13ObjectMonitor10ExitEpilogEP10JavaThreadP12ObjectWaiter"
        };
        assert_eq!(exit, expected);
        assert_eq!(image.function(expected).unwrap().symbol, expected);
    }
}

#[test]
fn the_probe_of_the_contended_exit_lies_in_the_function_and_its_arguments_are_understood() {
    for (version, image) in images() {
        let function = Known::ContendedExit.resolve(&image).unwrap();
        let probes = image.probes("hotspot", "monitor__contended__exit").unwrap();
        assert_eq!(probes.len(), 1, "JDK {version}");
        let probe = &probes[0];
        let offset = probe.address - function.address;
        assert!(offset < function.code.len(), "JDK {version}: {probe:?}");
        assert_eq!(function.code[offset], 0x90, "a nop");
        assert_eq!(probe.parsed_arguments().unwrap().len(), 4);
    }
}

#[test]
fn every_probe_of_the_vm_is_understood() {
    for (version, image) in images() {
        for name in ["monitor__wait", "monitor__waited", "monitor__contended__enter", "thread__park__begin"] {
            for probe in image.probes("hotspot", name).unwrap() {
                probe.parsed_arguments().unwrap_or_else(|e| panic!("JDK {version} {name}: {e}"));
            }
        }
    }
}

#[test]
fn what_is_absent_is_named() {
    for (_, image) in images() {
        let error = image.function_named("ObjectMonitor::NoSuch(int)").unwrap_err();
        assert!(matches!(&error, ImageError::NoSymbol { .. }), "{error}");
        assert!(error.to_string().contains("ObjectMonitor::NoSuch(int)"));
        let error = image.probes("hotspot", "no__such").unwrap_err();
        assert!(matches!(&error, ImageError::NoProbe { .. }), "{error}");
        let error = image.variable("DebugNonSafepoints", 1).unwrap_err();
        assert!(matches!(&error, ImageError::NotLive { .. }), "{error}");
    }
}

#[test]
fn a_file_that_is_no_library_is_an_error() {
    let here = std::path::Path::new(file!()).file_name().unwrap();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(here);
    let error = Image::of_file(&path).unwrap_err();
    assert!(matches!(&error, ImageError::Malformed { .. }), "{error}");
    let error = Image::of_file(std::path::Path::new("/nonexistent/libjvm.so")).unwrap_err();
    assert!(matches!(&error, ImageError::Unreadable { .. }), "{error}");
}

#[test]
fn a_function_of_a_file_cannot_be_patched() {
    use headway_hook::sys::linux::Linux;
    for (_, image) in images() {
        let known = Known::ContendedExit;
        let function = known.resolve(&image).unwrap();
        let hook = images as *const ();
        // SAFETY: it is refused, so the hook is never called.
        let refused = unsafe { headway_hook::Detour::prepare(&function, hook, known.context(), &Linux) };
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("not loaded here"), "{error}");
    }
}
