//! The simulated device behind the driver's traits.
