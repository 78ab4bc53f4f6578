//! Keys and rows are in memory, and a core dump would write them to a disk that outlives the run.

/// Asks the system to write no core dump of this process, whatever its limits were, and (on Linux)
/// to let no other process of the same user read its memory. A system that refuses is no reason not
/// to run.
pub(crate) fn forbid() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = setrlimit(Resource::Core, none);
    }
    // A handler that dumps are piped to is not kept by the limit.
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
