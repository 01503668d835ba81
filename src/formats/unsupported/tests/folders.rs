//! Tests of the errors of folders.

use crate::formats::ReadContext;

#[test]
fn the_error_of_a_folder_names_what_is_in_it_and_the_path_to_open() {
    let error = |files: &[(&str, &[u8])]| {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(path, bytes).expect("written");
        }
        let error = crate::formats::sniff::open(folder.path(), &ReadContext::default()).map(|_| ());
        error.expect_err("a folder").to_string().replace(folder.path().to_str().expect("UTF-8"), "FOLDER")
    };
    let ctf: &[u8] = b"/* CTF 1.8 */\n";
    assert!(error(&[("ust/uid/0/64-bit/metadata", ctf)]).contains("babeltrace2"), "the session of LTTng");
    let other = "FOLDER: not a file but a folder: open the files in it";
    assert_eq!(error(&[("a/metadata", b"Name: x\n")]), other);
    assert_eq!(error(&[("a/b/c/d/e/f/metadata", ctf)]), other, "too deep");
    assert_eq!(error(&[("notes.txt", b"x"), ("x.trace", b"no trace")]), other);
    let next = br#"[{"name":"a","duration":2,"timestamp":4,"id":4,"tags":{},"startTime":1795344951469,"traceId":"9"}]"#;
    assert_eq!(
        error(&[("cache/a", b"x"), ("trace", next)]),
        "FOLDER: not a file but a folder with a trace: open FOLDER/trace"
    );
    let playwright = br#"{"type":"context-options","playwrightVersion":"1","wallTime":5,"monotonicTime":5}"#;
    assert!(error(&[("0/trace.trace", playwright)]).ends_with("a trace: open FOLDER/0/trace.trace"));
    let uftrace: &[u8] = b"Ftrace!\0\x04\0\0\0\x28\0\x01\x02";
    assert_eq!(
        error(&[("uftrace.data/info", uftrace), ("uftrace.data/task.txt", b"")]),
        "FOLDER: not a file but a folder with a recording of uftrace: open FOLDER/uftrace.data"
    );
}
