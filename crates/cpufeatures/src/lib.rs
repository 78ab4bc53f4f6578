//! What the processor can do, as the standard library sees it: in the place of the public crate of this name, for the cipher and the hash that ask it.
//!
//! That crate grants `vaes`, instructions that encrypt several blocks at a time, only where there are registers of 512 bits. Many processors have the form for 256 bits alone, and the
//! cipher has code for it, which takes half the time. What is here is the interface that is called, and no more. Whoever says yes vouches that the instructions can be executed, because
//! unsafe code of others relies on it.

//!
//! The cipher's ways for registers of 512, 256 and 128 bits give the same blocks. To test each of them on one machine, `--cfg widest="256"` or `--cfg widest="128"` denies the wider ones.

#[doc(hidden)]
pub use std;

/// Bits of the widest registers that are granted, if the processor has them.
#[doc(hidden)]
pub const WIDEST: u32 = if cfg!(widest = "128") {
    128
} else if cfg!(widest = "256") {
    256
} else {
    512
};

/// Makes the module `$name`, which knows whether all these features are there.
#[macro_export]
macro_rules! new {
    ($name:ident, $($feature:tt),+ $(,)?) => {
        mod $name {
            /// What the processor said.
            #[derive(Clone, Copy, Debug)]
            pub(super) struct InitToken(bool);

            impl InitToken {
                /// Asks it.
                #[inline]
                pub(super) fn init() -> Self {
                    Self(get())
                }

                /// Whether all are there.
                #[inline(always)]
                pub(super) fn get(&self) -> bool {
                    self.0
                }
            }

            /// Asks it.
            #[allow(dead_code)]
            #[inline]
            pub(super) fn init() -> InitToken {
                InitToken::init()
            }

            /// Whether all are there.
            #[inline]
            pub(super) fn get() -> bool {
                true $(&& $crate::detected!($feature))+
            }
        }
    };
}

/// Whether the processor has it; the standard library remembers.
#[doc(hidden)]
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[macro_export]
macro_rules! detected {
    // For this one the standard library asks the processor alone. With `avx2` it also asks whether the system saves the wider registers; and the cipher keeps its keys in the form that
    // `aes` made, so without that they would not be there. Neither may be left out.
    ("vaes") => {
        $crate::WIDEST >= 256
            && $crate::std::is_x86_feature_detected!("vaes")
            && $crate::std::is_x86_feature_detected!("avx2")
            && $crate::std::is_x86_feature_detected!("aes")
    };
    ("avx512f") => {
        $crate::WIDEST >= 512 && $crate::std::is_x86_feature_detected!("avx512f")
    };
    ($feature:tt) => {
        $crate::std::is_x86_feature_detected!($feature)
    };
}

#[doc(hidden)]
#[cfg(target_arch = "aarch64")]
#[macro_export]
macro_rules! detected {
    ($feature:tt) => {
        $crate::std::arch::is_aarch64_feature_detected!($feature)
    };
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    crate::new!(always, "sse2");
    crate::new!(wide, "avx2");
    crate::new!(wider, "avx512f", "vaes");
    crate::new!(ciphers, "vaes");
    crate::new!(both, "sse2", "avx2");
    crate::new!(hashes, "sha", "sse2", "ssse3", "sse4.1");
    // Long gone when the other came: no processor has both.
    crate::new!(never, "tbm", "avx512vp2intersect", "sse2");
    crate::new!(nor, "sse2", "avx512vp2intersect", "tbm");

    #[test]
    fn it_says_what_the_standard_library_says() {
        let [avx2, vaes, aes, avx512] = [
            std::is_x86_feature_detected!("avx2"),
            std::is_x86_feature_detected!("vaes") && crate::WIDEST >= 256,
            std::is_x86_feature_detected!("aes"),
            std::is_x86_feature_detected!("avx512f") && crate::WIDEST >= 512,
        ];
        assert!(always::get());
        assert_eq!(wide::get(), avx2);
        assert_eq!(both::get(), avx2);
        assert_eq!(ciphers::get(), vaes && avx2 && aes);
        assert_eq!(wider::get(), vaes && avx2 && aes && avx512);
        assert_eq!(
            hashes::get(),
            std::is_x86_feature_detected!("sha") && std::is_x86_feature_detected!("sse4.1")
        );
        assert_eq!(always::init().get(), always::get());
        assert_eq!(ciphers::InitToken::init().get(), ciphers::get());
        assert_eq!(wider::InitToken::init().get(), wider::get());
        assert_eq!(wide::init().get(), wide::get());
        assert_eq!(both::init().get(), both::get());
        assert_eq!(hashes::init().get(), hashes::get());
    }

    /// To grant what is not there would be worse than slow.
    #[test]
    fn all_must_be_there() {
        assert!(!never::get() && !nor::get());
        assert!(!never::init().get() && !nor::InitToken::init().get());
    }
}
