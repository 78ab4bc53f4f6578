//! Private learning and private decisions as a service.
