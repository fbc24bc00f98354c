//! An error as one sentence.

/// The error and its causes, the outermost first. A cause that is part of the words before it is not repeated.
pub fn sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match () {
        () if said.contains(&cause) => said,
        () if said.is_empty() => cause,
        () => format!("{said}: {cause}"),
    })
}

#[cfg(test)]
mod tests {
    use super::sentence;
    use spindle::Error;

    #[test]
    fn a_cause_is_named_once() {
        let source = std::io::Error::other("no such thing");
        let error = Error::Transport { action: "open x".into(), source, cure: "make one".into() };
        let error = anyhow::Error::from(error).context("the card");
        assert_eq!(sentence(&error), "the card: cannot open x: no such thing; make one");
    }
}
