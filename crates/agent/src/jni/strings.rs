//! Java's strings.

use headway_class_file::modified_utf8;
use jni_sys::{jstring, JNIEnv};

/// A string of the Java code that is now running.
pub(crate) fn text(env: *mut JNIEnv, name: jstring) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: environment and string are those of the native method that is now
    // running; the buffer has room for what the VM said it writes.
    unsafe {
        let table = &(**env).v1_2;
        let (bytes, units) = (((**env).v1_1.GetStringUTFLength)(env, name), ((**env).v1_1.GetStringLength)(env, name));
        let mut buffer = vec![0u8; usize::try_from(bytes).ok()? + 1];
        (table.GetStringUTFRegion)(env, name, 0, units, buffer.as_mut_ptr().cast());
        buffer.pop();
        Some(modified_utf8(&buffer))
    }
}
