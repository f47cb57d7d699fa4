//! A value that is replaced while others use it.

use std::sync::{Arc, PoisonError, RwLock};

/// The current value of something that a reload replaces whole. Whoever has read it keeps what was
/// there; whoever reads next gets the new one.
pub(crate) struct Current<T>(RwLock<Arc<T>>);

impl<T> Current<T> {
    /// The first value.
    pub fn new(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }

    /// Puts another value in its place.
    pub fn replace(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }

    /// The value as it is now.
    pub fn read(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
