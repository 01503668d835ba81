//! Tests of the filter language.

use super::*;

#[test]
fn a_quoted_text_matches_literally() {
    for name in ["plain", "a b", "say \"x\"", r"C:\dir\", "-dur>1ms", "/x/"] {
        let filter = Filter::parse(&quoted(name)).unwrap();
        assert!(matches!(&filter.terms[..], [term] if !term.negated));
        assert!(matches!(&filter.terms[0].test, Test::Name(test) if test.holds(name) && !test.holds("other")));
    }
}

#[test]
fn the_word_of_a_name_matches_no_other_name_however_it_is_spelt() {
    for name in
        ["", "draw", "a b", " a ", "a\nb", "a/b", "//", r"C:\dir\", r"\/", "x[0]^$", "-x", "\"", "é#&~", "\0", "a-b:c"]
    {
        let Term { negated: false, test: Test::Name(test) } = only(&name_word(name)) else { panic!("{name:?}") };
        assert!(test.holds(name), "{name:?}");
        for other in [format!("{name}x"), format!("x{name}"), format!("{name}\n"), name.to_uppercase() + "_"] {
            assert!(!test.holds(&other), "{name:?} and {other:?}");
        }
    }
    assert_name(&name_word("draw"), &["draw"], &["Draw", "redraw", "draws"]);
    let long = "long ".repeat(10_000);
    assert_name(&name_word(&long), &[&long], &["long"]);
}

fn only(text: &str) -> Term {
    let filter = Filter::parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(filter.terms.len(), 1, "{text}: {filter:?}");
    filter.terms.into_iter().next().unwrap()
}

#[track_caller]
fn assert_name(text: &str, holds: &[&str], fails: &[&str]) {
    let Term { negated: false, test: Test::Name(test) } = only(text) else { panic!("{text} asks for no name") };
    holds.iter().for_each(|name| assert!(test.holds(name), "{text} for {name}"));
    fails.iter().for_each(|name| assert!(!test.holds(name), "{text} for {name}"));
}

#[test]
fn a_word_is_a_part_of_a_name_in_any_case() {
    assert_name("Read", &["read", "thread", "READ_all"], &["rad", ""]);
    assert_name("a.c", &["xa.cx"], &["abc"]);
    assert_name("É", &["é"], &["e"]);
    assert_name("std::read", &["std::read_all"], &["read"]);
    assert_name("Vec<u8>", &["Vec<u8>::push"], &["Vec"]);
    assert_name("a/b", &["a/b"], &["ab"]);
    assert_name("-", &["a-b"], &["ab"]);
}

#[test]
fn expressions_letters_and_quotes_say_more() {
    assert_name("/^re+d$/", &["reed"], &["Reed", "reads"]);
    assert_name("/a b/", &["a b"], &["ab"]);
    assert_name(r"/a\/b/", &["a/b"], &["a\\/b"]);
    assert_name(r"/\d \w/", &["1 x"], &["x 1"]);
    assert_name("~RdAll", &["read_all", "rdall"], &["allread"]);
    assert_name("\"a b\"", &["xa bx"], &["ab"]);
    assert_name("\"dur>1ms\"", &["dur>1ms"], &["dur"]);
    assert_name("\"-x\"", &["-x"], &["x"]);
    assert_name("-", &["a-b"], &["ab"]);
    assert_name("\"\"", &["x", ""], &[]);
    let Term { negated: true, test: Test::Name(test) } = only("-\"\"") else { panic!("it excludes no name") };
    assert!(test.holds("x") && test.holds(""));
    assert_name(r#""say \"x\"""#, &["say \"x\""], &["say x"]);
}

#[test]
fn keys_say_what_is_asked_and_a_minus_turns_it_round() {
    let filter = Filter::parse(r#"-cat:io thread:worker process:/db/ arg.a.b=1 arg.url:"x y" dur>1ms read"#).unwrap();
    assert_eq!(filter.terms.len(), 7);
    assert!(filter.terms[0].negated && matches!(&filter.terms[0].test, Test::Category(test) if test.holds("IO")));
    assert!(matches!(&filter.terms[1].test, Test::Thread(test) if test.holds("worker 1")));
    assert!(matches!(&filter.terms[2].test, Test::Process(test) if test.holds("db") && !test.holds("DB")));
    let Test::Argument { path, test } = &filter.terms[3].test else { panic!("{filter:?}") };
    assert!(path.dotted() == "a.b" && test.holds("1") && !test.holds("11"));
    assert!(matches!(&filter.terms[4].test, Test::Argument { test, .. } if test.holds("ax yb")));
    assert!(Filter::parse("  ").unwrap().is_empty());
}

#[test]
fn a_number_of_an_argument_is_compared_by_value_and_a_text_by_its_letters() {
    for (word, value, is_same) in [
        ("arg.e=100000", "1E5", true),
        ("arg.e=1.1", "1.10", true),
        ("arg.e=9007199254740993", "9007199254740993", true),
        ("arg.e=9007199254740993", "9007199254740992", false),
        ("arg.e=100000", "\"1E5\"", false),
        ("arg.e=1E5", "\"1E5\"", true),
        ("arg.e=1E5", "\"100000\"", true),
        ("arg.e=true", "true", true),
    ] {
        let Test::Argument { test, .. } = only(word).test else { panic!("{word}") };
        assert_eq!(test.holds_value(&serde_json::from_str(value).unwrap()), is_same, "{word} {value}");
    }
}

#[test]
fn quotes_in_the_key_of_an_argument_are_part_of_the_key() {
    for (text, key, holds, fails) in [
        (r#"arg."External id"=5"#, r#""External id""#, "5", "55"),
        (r#"arg.a."b.c".d:"x y""#, r#"a."b.c".d"#, "ax yb", "xy"),
        (r#"arg."=:<":/^x/"#, r#""=:<""#, "xy", "yx"),
        (r#"arg."a!"=x"#, r#""a!""#, "x", "xx"),
        ("arg.http.status_code=200", "http.status_code", "200", "20"),
    ] {
        for (word, negated) in [(text.to_owned(), false), (format!("-{text}"), true)] {
            let term = only(&word);
            let Test::Argument { path, test } = &term.test else { panic!("{word}: {term:?}") };
            assert_eq!((path.to_string(), term.negated), (key.to_owned(), negated), "{word}");
            assert!(test.holds(holds) && !test.holds(fails), "{word}");
        }
    }
    for text in [r#"arg."a b"!=x"#, r#"arg."a b">5"#, r#"arg."a"==x"#] {
        let error = Filter::parse(text).expect_err(text);
        assert!(error.problem.starts_with("expected arg.\"a"), "{error}");
    }
    // A word without a comparison, or with quotes before the key, is a name.
    assert_name(r#"arg."a b""#, &["arg.a b"], &["a b"]);
    assert_name(r#""arg.a=1""#, &["arg.a=1"], &["1"]);
}

#[test]
fn a_span_above_is_asked_for_by_its_name_or_by_its_position() {
    for (text, holds, fails) in [
        ("in:Task", "RunTask", "Run"),
        ("in:/^Run/", "RunTask", "reRun"),
        ("in:~rt", "RunTask", "Task"),
        ("in:\"a b\"", "xa b", "ab"),
    ] {
        let Test::Inside(test) = only(text).test else { panic!("{text}") };
        assert!(test.holds(holds) && !test.holds(fails), "{text}");
    }
    assert!(only("-in:x").negated);
    let position = |track: &str, depth, start_ns| SpanPosition { track: track.to_owned(), depth, start_ns };
    for (text, expected) in [
        ("within:#17/2@1500", position("#17", 2, 1500)),
        ("within:worker/0@-1.5us", position("worker", 0, -1500)),
        ("within:\"a/b @ c/1@7\"", position("a/b @ c", 1, 7)),
    ] {
        assert!(matches!(only(text).test, Test::Within(found) if found == expected), "{text}");
    }
    for text in
        ["within:", "within:17", "within:17/2", "within:17@3", "within:17/x@3", "within:17/-1@3", "within:1/1@x"]
    {
        assert_eq!(Filter::parse(text).expect_err(text).word, text);
    }
}

#[test]
fn the_only_state_is_failed_and_other_words_with_that_key_are_refused() {
    for (word, negated) in [("is:failed", false), ("-is:failed", true)] {
        let term = only(word);
        assert!(matches!(term.test, Test::Failed) && term.negated == negated, "{word}: {term:?}");
    }
    for word in ["is:fail", "is:", "-is:open"] {
        let error = Filter::parse(word).expect_err(word);
        assert!(error.problem.starts_with("expected is:failed"), "{error}");
    }
    assert_name("is::failed", &["is::failed"], &["failed"]);
    assert_name("is=x", &["is=x"], &["x"]);
    assert_name("\"is:failed\"", &["is:failed"], &["failed"]);
}

#[test]
fn data_that_a_row_may_have_is_tested_and_other_words_with_that_key_are_refused() {
    for (word, data, negated) in [
        ("has:args", RowData::Arguments, false),
        ("has:flow", RowData::Flow, false),
        ("-has:flow", RowData::Flow, true),
        ("has:stack", RowData::Stack, false),
    ] {
        let term = only(word);
        assert!(matches!(term.test, Test::Has(found) if found == data) && term.negated == negated, "{word}: {term:?}");
    }
    for word in ["has:arg", "has:", "-has:flows", "has:flow:"] {
        let error = Filter::parse(word).expect_err(word);
        assert_eq!(error.problem, "expected has:args, has:flow or has:stack; quotes make it a name");
    }
    assert_name("has::args", &["has::args"], &["args"]);
    assert_name("has=x", &["has=x"], &["x"]);
    assert_name("has", &["hash"], &["ha"]);
    assert_name("\"has:args\"", &["has:args"], &["args"]);
}

#[test]
fn durations_are_exact_to_the_nanosecond() {
    let range = |text: &str| match only(text).test {
        Test::Duration(range) => (*range.start(), *range.end()),
        other => panic!("{other:?}"),
    };
    assert_eq!(range("dur>1ms"), (1_000_001, u64::MAX));
    assert_eq!(range("dur>=1.5us"), (1500, u64::MAX));
    assert_eq!(range("dur<2s"), (0, 1_999_999_999));
    assert_eq!(range("dur<=0"), (0, 0));
    assert_eq!(range("dur=7"), (7, 7));
    assert_eq!(range("dur>=9223372036854775808"), (1 << 63, u64::MAX));
    for text in ["dur<0", "dur>18446744073709551615"] {
        assert!(RangeInclusive::new(range(text).0, range(text).1).is_empty(), "{text}");
    }
}

#[test]
fn starts_are_times_of_the_clock_at_both_ends_of_time() {
    let range = |text: &str| match only(text).test {
        Test::Start(test) => test.absolute().map(RangeInclusive::into_inner).expect("no plus"),
        other => panic!("{other:?}"),
    };
    assert_eq!(range("start>=1.5us"), (1500, i64::MAX));
    assert_eq!(range("start<-2s"), (i64::MIN, -2_000_000_001));
    assert_eq!(range("start=7"), (7, 7));
    assert_eq!(range("start<=-9223372036854775808"), (i64::MIN, i64::MIN));
    for text in ["start<-9223372036854775808", "start>9223372036854775807"] {
        assert!(RangeInclusive::new(range(text).0, range(text).1).is_empty(), "{text}");
    }
    assert!(Filter::parse("start>soon").is_err());
    // A name with such a prefix is still a name.
    assert_name("start:up", &["start:up"], &["start"]);
}

#[test]
fn an_operator_that_a_key_has_not_is_refused_and_not_taken_for_a_name() {
    let refused = [
        "dur!=0",
        "-dur!=0",
        "start!=1",
        "cat=io",
        "cat!=\"a b\"",
        "category>x",
        "thread=3",
        "track<x",
        "process=db",
        "process!=db",
        "name=read",
        "in=Task",
        "within=a/0@1",
        "arg.url!=x",
        "arg.size>5",
        "arg.size<=5",
        "arg.url==x",
        "dur==0",
    ];
    for text in refused {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.word, text.replace('"', ""), "{text}");
    }
    let said = Filter::parse("dur!=0").expect_err("refused").to_string();
    assert!(said.contains("dur= and a time") && said.contains("a minus before it excludes"), "{said}");
    assert!(only("-dur=0").negated);
    for words in ["start <init>", "dur >>", "start =default", "dur > x"] {
        assert!(Filter::parse(words).is_ok(), "{words}");
    }
    for name in ["\"cat=io\"", "\"dur!=0\"", "durable=1", "std::read", "a<b>", "x!=y", "=", "!=", "arg=1", "start:up"] {
        assert!(matches!(only(name).test, Test::Name(_)), "{name}");
    }
    // A quoted value may begin with any mark.
    let Test::Argument { path, test } = only(r#"arg.a="=1""#).test else { panic!("an argument") };
    assert!(path.dotted() == "a" && test.holds("=1") && !test.holds("1"));
}

#[test]
fn a_slash_after_a_mark_of_a_name_starts_no_expression() {
    for name in ["GET:/index", "a-/b", "file:///tmp/x", ":/x", "x:-/y", "std::/"] {
        assert_name(name, &[name], &["other"]);
    }
    // A slash after a key or a leading minus starts an expression.
    for (word, negated) in [("-/^a b$/", true), ("name:/^a b$/", false), ("-name:/^a b$/", true)] {
        let term = only(word);
        assert!(term.negated == negated && matches!(&term.test, Test::Name(TextTest::Expression(_))), "{word}");
    }
    for word in ["arg.url:/a b/", "arg.\"k l\":/a b/", "-arg.url:/a b/"] {
        let Test::Argument { test, .. } = only(word).test else { panic!("{word}") };
        assert!(test.holds("xa by") && !test.holds("ab"), "{word}");
    }
}

#[test]
fn a_key_with_a_slip_is_refused_where_it_can_hardly_be_a_name() {
    for text in ["cat!:c", "-arg.url!:x", "Cat:c", "NAME:x", "DUR>1us", "Start<=5"] {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.word, text);
        assert!(error.problem.contains("quotes make it a name"), "{error}");
    }
    for (text, word) in [("x dur = 10us", "dur ="), ("-start >5", "-start >5")] {
        assert_eq!(Filter::parse(text).expect_err(text).word, word);
    }
    for text in ["arg.a..b=1", "arg.=3", "arg.a.:x"] {
        assert!(Filter::parse(text).expect_err(text).problem.starts_with("expected a key such as arg.url"), "{text}");
    }
    for name in ["Process::run", "Thread<T>", "Start<T>", "Name=x", "\"Cat:c\"", "arg.a..b", "arg.\"\"", "Dur"] {
        assert!(matches!(only(name).test, Test::Name(_)), "{name}");
    }
    assert_eq!(Filter::parse("dur \"=\" 10us").expect("names").terms.len(), 3);
    let Test::Argument { path, .. } = only(r#"arg."".a=1"#).test else { panic!("an argument") };
    assert_eq!(path.dotted(), ".a");
}

#[test]
fn an_expression_that_is_too_large_is_refused_in_words() {
    let error = Filter::parse("/(a{1000}){1000}/").expect_err("too large");
    assert_eq!(error.problem, "the expression takes more than 10 MiB: expected fewer repetitions");
}

#[test]
fn errors_name_the_invalid_word_and_what_was_expected() {
    for (text, word) in [("x dur>fast", "dur>fast"), ("dur:1", "dur:1"), ("a /b", "/b"), ("\"a", "\"a"), ("/(/", "/(/")]
    {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.word, word);
        assert!(!error.problem.is_empty());
    }
    assert!(Filter::parse("dur>-1").is_err());
}
