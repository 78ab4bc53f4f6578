//! Loops for the processor at hand, chosen when the program runs.

/// Defines functions that `pulp` compiles a second time, for wider vectors. The body is inlined,
/// and so must be what it calls: only then is it compiled for both. `S` names the vectors.
macro_rules! wide {
    ($($(#[$doc:meta])* $vis:vis fn $name:ident<$life:lifetime>(
        $($argument:ident: $type:ty),* $(,)?
    ) -> $out:ty $body:block)*) => {$(
        $(#[$doc])*
        $vis fn $name<$life>($($argument: $type),*) -> $out {
            struct Work<$life> {
                $($argument: $type),*
            }

            impl<$life> pulp::WithSimd for Work<$life> {
                type Output = $out;

                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) -> $out {
                    // Arguments of a function, unlike fields, are known not to overlap.
                    #[inline(always)]
                    #[allow(clippy::extra_unused_type_parameters)]
                    fn work<$life, S: pulp::Simd>($($argument: $type),*) -> $out $body

                    let Self { $($argument),* } = self;
                    work::<S>($($argument),*)
                }
            }

            pulp::Arch::new().dispatch(Work { $($argument),* })
        }
    )*};
}

pub(crate) use wide;
