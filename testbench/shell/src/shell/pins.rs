//! Ports of a model by name.

/// A structure of the ports of a model whose names begin with a prefix, and its constructor `of`.
#[macro_export]
macro_rules! pins {
    ($name:ident $prefix:literal $($field:ident)*) => {
        /// Ports of a model.
        #[derive(Clone, Copy)]
        pub struct $name { $(
            pub $field: spindle_harness::Port
        ),* }

        impl $name {
            /// Those of this model; it has all of them.
            pub fn of(model: &spindle_harness::Model) -> Self {
                let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error:#}"));
                Self { $($field: port(concat!($prefix, stringify!($field)))),* }
            }
        }
    };
}
